/* The first stage's loop: what pages gain by the centroids nearest to a query.
 *
 * It runs on the calling thread without the GIL. Lists come from a file that may be damaged, so no
 * number of theirs is used as a place that there isn't.
 */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "lists are little-endian; docpruner searches them with numpy on this machine"
#endif

#if !defined(__GNUC__)
#error "written for GCC and Clang; docpruner searches lists with numpy on this machine"
#endif

enum { ANY_PAGE = 1 << 16 }; /* pages that an entry of a list can name */

struct lists {
    const uint32_t *offsets; /* (centroids + 1,), into pages */
    const uint16_t *pages;   /* of each centroid, one list after the other */
    size_t centroids, length;
};

enum { AHEAD = 6 }; /* lists, whose beginnings are fetched before their turn */

static inline void fetch(const struct lists *lists, int32_t centroid)
{
    if ((size_t)centroid < lists->centroids && lists->offsets[centroid] < lists->length)
        __builtin_prefetch(lists->pages + lists->offsets[centroid]);
}

/* Add to each page's gain what its best probed centroid of every token is worth. A token's centroids
 * come best first and are looked up from the last one on, so that the best is what stays. `best` has
 * a place for any page that 16 bits can name: one that there isn't does no harm, and is seen in the
 * end. 0 if the lists are damaged. */
static int add_gains(const struct lists *lists, const int32_t *probed, const uint16_t *worths,
                     size_t tokens, size_t each, uint16_t *gains, uint16_t *best, size_t pages)
{
    memset(best + pages, 0, 2 * (ANY_PAGE - pages));
    for (size_t token = 0; token < tokens; token++) {
        memset(best, 0, 2 * pages);
        const int32_t *centroids = probed + token * each;
        for (size_t i = each; i-- > 0;) {
            size_t centroid = (size_t)centroids[i];
            if (i >= AHEAD)
                fetch(lists, centroids[i - AHEAD]);
            if (centroid >= lists->centroids)
                return 0;
            size_t at = lists->offsets[centroid], end = lists->offsets[centroid + 1];
            if (at > end || end > lists->length)
                return 0;
            const uint16_t worth = worths[token * each + i];
            for (; at < end; at++)
                best[lists->pages[at]] = worth;
        }
        for (size_t page = 0; page < pages; page++)
            gains[page] = (uint16_t)(gains[page] + best[page]);
    }
    for (size_t page = pages; page < ANY_PAGE; page++)
        if (best[page])
            return 0;
    return 1;
}

static PyObject *gains(PyObject *self, PyObject *args)
{
    (void)self;
    Py_buffer offsets, pages, probed, worths, sums;
    Py_ssize_t tokens;
    if (!PyArg_ParseTuple(args, "y*y*y*y*w*n", &offsets, &pages, &probed, &worths, &sums, &tokens))
        return NULL;
    size_t each = tokens > 0 ? (size_t)probed.len / 4 / (size_t)tokens : 0;
    size_t count = (size_t)sums.len / 2;
    int fits = tokens > 0 && offsets.len >= 8 && count > 0 && count <= ANY_PAGE &&
               (size_t)probed.len == 4 * each * (size_t)tokens &&
               (size_t)worths.len == 2 * each * (size_t)tokens;
    struct lists lists = {offsets.buf, pages.buf, (size_t)offsets.len / 4 - 1, (size_t)pages.len / 2};
    uint16_t *best = fits ? malloc(2 * ANY_PAGE) : NULL;
    int sound = 0;
    if (best) {
        Py_BEGIN_ALLOW_THREADS
        memset(sums.buf, 0, (size_t)sums.len);
        sound = add_gains(&lists, probed.buf, worths.buf, (size_t)tokens, each, sums.buf, best, count);
        Py_END_ALLOW_THREADS
    }
    free(best);
    PyBuffer_Release(&offsets);
    PyBuffer_Release(&pages);
    PyBuffer_Release(&probed);
    PyBuffer_Release(&worths);
    PyBuffer_Release(&sums);
    if (!fits) {
        PyErr_SetString(PyExc_ValueError, "sizes don't fit");
        return NULL;
    }
    return best ? PyBool_FromLong(sound) : PyErr_NoMemory();
}

static PyMethodDef methods[] = {
    {"gains", gains, METH_VARARGS,
     "gains(offsets, pages, probed, worths, sums, tokens)\n"
     "What each page gains by the centroids probed for each token. False if the lists are damaged."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "docpruner._probe", "Native first stage.", 0, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__probe(void) { return PyModuleDef_Init(&module); }
