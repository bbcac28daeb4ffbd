/* The first stage's two loops: the best centroids of each query token, and what pages gain by them.
 *
 * Both run on the calling thread without the GIL. Lists come from a file that may be damaged, so
 * every number of theirs is checked before it is used as a place.
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

struct entry {
    float score;
    int32_t place;
};

/* Whether a stands after b: a lower score, or an equal one of a later place. */
static int after(struct entry a, struct entry b)
{
    return a.score < b.score || (a.score == b.score && a.place > b.place);
}

/* Let the root sink to where it belongs in a heap whose root stands after all others. */
static void sink(struct entry *heap, size_t count)
{
    struct entry moving = heap[0];
    size_t at = 0, child;
    while ((child = 2 * at + 1) < count) {
        if (child + 1 < count && after(heap[child + 1], heap[child]))
            child++;
        if (!after(heap[child], moving))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moving;
}

static int by_rank(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return after(*x, *y) ? 1 : after(*y, *x) ? -1 : 0;
}

/* The `wanted` highest of `count` scores, the highest first. */
static void best_of(const float *scores, size_t count, struct entry *heap, size_t wanted)
{
    for (size_t i = 0; i < wanted; i++)
        heap[i] = (struct entry){scores[i], (int32_t)i};
    qsort(heap, wanted, sizeof *heap, by_rank);
    for (size_t i = 0; i < wanted / 2; i++) { /* turned round it is such a heap */
        struct entry other = heap[i];
        heap[i] = heap[wanted - 1 - i];
        heap[wanted - 1 - i] = other;
    }
    for (size_t i = wanted; i < count; i++)
        if (scores[i] > heap[0].score) {
            heap[0] = (struct entry){scores[i], (int32_t)i};
            sink(heap, wanted);
        }
    qsort(heap, wanted, sizeof *heap, by_rank);
}

static PyObject *best(PyObject *self, PyObject *args)
{
    (void)self;
    Py_buffer scores, places, values;
    Py_ssize_t rows;
    if (!PyArg_ParseTuple(args, "y*w*w*n", &scores, &places, &values, &rows))
        return NULL;
    size_t count = rows > 0 ? (size_t)scores.len / 4 / (size_t)rows : 0;
    size_t wanted = rows > 0 ? (size_t)places.len / 4 / (size_t)rows : 0;
    int fits = rows > 0 && wanted > 0 && wanted <= count && count <= INT32_MAX &&
               (size_t)scores.len == 4 * count * (size_t)rows && places.len == values.len &&
               (size_t)places.len == 4 * wanted * (size_t)rows;
    struct entry *heap = fits ? malloc(wanted * sizeof *heap) : NULL;
    if (heap) {
        Py_BEGIN_ALLOW_THREADS
        for (size_t row = 0; row < (size_t)rows; row++) {
            best_of((const float *)scores.buf + row * count, count, heap, wanted);
            for (size_t i = 0; i < wanted; i++) {
                ((int32_t *)places.buf)[row * wanted + i] = heap[i].place;
                ((float *)values.buf)[row * wanted + i] = heap[i].score;
            }
        }
        Py_END_ALLOW_THREADS
    }
    free(heap);
    PyBuffer_Release(&scores);
    PyBuffer_Release(&places);
    PyBuffer_Release(&values);
    if (!fits) {
        PyErr_SetString(PyExc_ValueError, "sizes don't fit");
        return NULL;
    }
    if (!heap)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

struct lists {
    const uint32_t *offsets; /* (centroids + 1,), into pages */
    const uint16_t *pages;   /* of each centroid, one list after the other */
    size_t centroids, length;
};

/* Add to each page's gain what its best probed centroid of every token is worth. A token's centroids
 * come best first, so that the first that has a page decides. 0 if the lists are damaged. */
static int add_gains(const struct lists *lists, const int32_t *probed, const uint16_t *worths,
                     size_t tokens, size_t each, uint16_t *gains, uint8_t *seen, size_t pages)
{
    for (size_t token = 0; token < tokens; token++) {
        uint8_t mark = (uint8_t)(token % 255 + 1);
        if (mark == 1)
            memset(seen, 0, pages);
        for (size_t i = token * each; i < (token + 1) * each; i++) {
            size_t centroid = (size_t)probed[i];
            if (centroid >= lists->centroids)
                return 0;
            size_t at = lists->offsets[centroid], end = lists->offsets[centroid + 1];
            if (at > end || end > lists->length)
                return 0;
            for (; at < end; at++) {
                size_t page = lists->pages[at];
                if (page >= pages)
                    return 0;
                uint16_t worth = seen[page] == mark ? 0 : worths[i];
                gains[page] = (uint16_t)(gains[page] + worth);
                seen[page] = mark;
            }
        }
    }
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
    int fits = tokens > 0 && offsets.len >= 8 && count > 0 &&
               (size_t)probed.len == 4 * each * (size_t)tokens &&
               (size_t)worths.len == 2 * each * (size_t)tokens;
    struct lists lists = {offsets.buf, pages.buf, (size_t)offsets.len / 4 - 1, (size_t)pages.len / 2};
    uint8_t *seen = fits ? malloc(count) : NULL;
    int sound = 0;
    if (seen) {
        Py_BEGIN_ALLOW_THREADS
        memset(sums.buf, 0, (size_t)sums.len);
        sound = add_gains(&lists, probed.buf, worths.buf, (size_t)tokens, each, sums.buf, seen, count);
        Py_END_ALLOW_THREADS
    }
    free(seen);
    PyBuffer_Release(&offsets);
    PyBuffer_Release(&pages);
    PyBuffer_Release(&probed);
    PyBuffer_Release(&worths);
    PyBuffer_Release(&sums);
    if (!fits) {
        PyErr_SetString(PyExc_ValueError, "sizes don't fit");
        return NULL;
    }
    return seen ? PyBool_FromLong(sound) : PyErr_NoMemory();
}

static PyMethodDef methods[] = {
    {"best", best, METH_VARARGS,
     "best(scores, places, values, rows)\nThe highest scores of each row, the highest first."},
    {"gains", gains, METH_VARARGS,
     "gains(offsets, pages, probed, worths, sums, tokens)\n"
     "What each page gains by the centroids probed for each token. False if the lists are damaged."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "docpruner._probe", "Native first stage.", 0, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__probe(void) { return PyModuleDef_Init(&module); }
