/* Exact MaxSim over a ragged corpus: product and maximum fused, page by page.
 *
 * One call scores pages [first, last) on the calling thread without the GIL; docpruner.maxsim
 * checks the arguments' meaning, spreads pages over threads and picks the instruction set. The
 * loop itself is in tile.h.
 *
 * With AVX2 or better, rows of integers are scored in integers: query tokens are rounded to 16 bits,
 * each with its own unit, and products are summed exactly in 32 bits. Codes of four and two bits are
 * unpacked to the levels they stand for; query tokens come rotated as the stored vectors are.
 */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "rows are little-endian; docpruner scores with numpy on this machine"
#endif

#if !defined(__GNUC__)
#error "written for GCC and Clang; docpruner scores with numpy on this machine"
#endif
#define INLINE static inline __attribute__((always_inline))

enum codec { FLOAT32, FLOAT16, INT8, BINARY, INT4, INT2, INT1, CODECS };

struct corpus {
    const uint8_t *rows;
    size_t stride, dim;
    enum codec codec;
    float binary_unit; /* what a sign bit is worth: 1/√dim */
};

/* Query tokens in the order in which a tile reads them: group, step, register, lane. */
struct packed {
    uint8_t *tokens;
    double *units; /* what one step of each token's integers is worth; 1 for floats */
    size_t count, groups, group_bytes, steps;
    int last_registers; /* of the last group, which may be short */
    int integers;       /* pairs of 16-bit integers instead of floats */
};

struct scratch {
    uint8_t *docs; /* vectors of one tile, widened */
    size_t width;  /* bytes of one widened vector */
    float *best;   /* largest similarity of each query token */
};

/* Of the vectors of a page, those that are worth a look. */
struct selection {
    const uint16_t *codes; /* of every row */
    const uint8_t *wanted; /* for each code, whether its rows are */
    const float *floors;   /* what each token has without any, in its units */
};

#define MAX_TILE_D 8

static int16_t signs_of_byte[256][8];

/* What codes of four and two bits stand for; docpruner.codecs has the same. */
static const int8_t levels_4[16] = {-104, -79, -62, -48, -36, -25, -15, -5,
                                    5,    15,  25,  36,  48,  62,  79,  104};
static const int8_t levels_2[16] = {-10, -3, 3, 10};

/* The largest integer that a row of a codec holds. */
static int largest_of(enum codec codec)
{
    switch (codec) {
    case INT8: return 127;
    case INT4: return 104;
    case INT2: return 10;
    default: return 1;
    }
}

/* The levels of a row of codes, plane after plane, from the byte `from` on. */
INLINE void levels_portable(const uint8_t *row, size_t bytes, int bits, const int8_t *levels,
                            size_t from, int16_t *out)
{
    const uint8_t mask = (uint8_t)((1 << bits) - 1);
    for (int plane = 0; plane < 8 / bits; plane++)
        for (size_t i = from; i < bytes; i++)
            out[(size_t)plane * bytes + i] = levels[row[i] >> (bits * plane) & mask];
}

/* The exponent is shifted into place and rescaled, infinities and NaN are patched. */
static float one_half_portable(const uint8_t *bytes)
{
    uint16_t half;
    memcpy(&half, bytes, 2);
    uint32_t magnitude = (uint32_t)(half & 0x7fff) << 13;
    float value;
    memcpy(&value, &magnitude, 4);
    value *= 0x1p112f;
    uint32_t bits;
    memcpy(&bits, &value, 4);
    if ((half & 0x7c00) == 0x7c00)
        bits |= 0x7f800000;
    bits |= (uint32_t)(half & 0x8000) << 16;
    memcpy(&value, &bits, 4);
    return value;
}

INLINE void halves_portable(const uint8_t *row, float *out, size_t dim)
{
    for (size_t i = 0; i < dim; i++)
        out[i] = one_half_portable(row + 2 * i);
}

#define FOR_CONSTANT_NQ(CALL) /* so that each tile is unrolled for its number of registers */ \
    switch (nq) {                                                                              \
    case 1: { enum { NQ = 1 }; CALL; break; }                                                  \
    case 2: { enum { NQ = 2 }; CALL; break; }                                                  \
    default: { enum { NQ = TILE_Q }; CALL; break; }                                            \
    }

/* ---- any machine ---------------------------------------------------------------------------- */

#define ISA(name) name##_portable
#define LANES 4
#define TILE_Q 3
#define TILE_D 4
typedef float f4 __attribute__((vector_size(16)));
typedef int32_t mask4 __attribute__((vector_size(16)));
#define vf f4
INLINE f4 f4_load(const float *p) { f4 a; memcpy(&a, p, sizeof a); return a; }
INLINE f4 f4_max(f4 a, f4 b)
{
    mask4 first = a > b;
    return (f4)((first & (mask4)a) | (~first & (mask4)b));
}
#define f_zero() ((f4){0})
#define f_load f4_load
#define f_store(p, a) memcpy(p, &(a), sizeof(f4))
#define f_spread(p) ((f4){*(p), *(p), *(p), *(p)})
#define f_fma(a, b, c) ((c) + (a) * (b))
#define f_max f4_max
#define one_half one_half_portable
#define halves halves_portable
#include "tile.h"
#include "tile_undef.h"

/* ---- AVX2 with FMA and F16C ----------------------------------------------------------------- */

#if defined(__x86_64__)
#define HAVE_X86 1
#include <immintrin.h>
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
#define ISA(name) name##_avx2
#define TILE_D 3
#define i_dot dot_avx2
#include "ops_256.h"
INLINE __m256i pair_avx2(const int16_t *p)
{
    int32_t pair;
    memcpy(&pair, p, 4);
    return _mm256_set1_epi32(pair);
}
/* In assembly, for the compiler would hold all products of a step before it adds them, and run out of
 * registers. */
INLINE __m256i dot_avx2(__m256i a, __m256i b, __m256i sum)
{
    __m256i product;
    __asm__("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0"
            : "+x"(sum), "=&x"(product)
            : "x"(a), "xm"(b));
    return sum;
}
INLINE float one_half_avx2(const uint8_t *bytes)
{
    uint16_t half;
    memcpy(&half, bytes, 2);
    return _cvtsh_ss(half);
}
INLINE void halves_avx2(const uint8_t *row, float *out, size_t dim)
{
    size_t i = 0;
    for (; i + 8 <= dim; i += 8)
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const void *)(row + 2 * i))));
    halves_portable(row + 2 * i, out + i, dim - i);
}
INLINE void levels_avx2(const uint8_t *row, size_t bytes, const int bits, const int8_t *levels,
                        int16_t *out)
{
    const __m128i table = _mm_loadu_si128((const void *)levels);
    const __m128i mask = _mm_set1_epi8((char)((1 << bits) - 1));
    size_t i = 0;
    for (; i + 16 <= bytes; i += 16) {
        __m128i codes = _mm_loadu_si128((const void *)(row + i));
        for (int plane = 0; plane < 8 / bits; plane++) {
            __m128i level = _mm_shuffle_epi8(table, _mm_and_si128(codes, mask));
            _mm256_storeu_si256((void *)(out + (size_t)plane * bytes + i),
                                _mm256_cvtepi8_epi16(level));
            codes = _mm_srli_epi16(codes, bits);
        }
    }
    levels_portable(row, bytes, bits, levels, i, out);
}
#include "tile.h"
#include "tile_undef.h"
#pragma GCC pop_options

/* ---- AVX-512 with VNNI, in registers of 256 and of 512 bits ---------------------------------- */

/* With DOCPRUNER_SIMDE the same code on a machine without AVX-512, to test it: make avx512. */
#ifdef DOCPRUNER_SIMDE
#define TARGET_VNNI _Pragma("GCC target(\"avx2,fma,f16c\")")
#else
#define TARGET_VNNI _Pragma("GCC target(\"avx512f,avx512bw,avx512vl,avx512vnni,avx2,fma,f16c\")")
#endif

#pragma GCC push_options
TARGET_VNNI
#ifdef DOCPRUNER_SIMDE
#define dot_vnni256 dot_avx2
#else
INLINE __m256i dot_vnni256(__m256i a, __m256i b, __m256i sum)
{
    __asm__("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(a), "vm"(b)); /* as for dot_avx2 */
    return sum;
}
#endif
#define ISA(name) name##_vnni256
#define TILE_D 5
#define i_dot dot_vnni256
#include "ops_256.h"
#include "tile.h"
#include "tile_undef.h"
#pragma GCC pop_options

#ifdef DOCPRUNER_SIMDE
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>
#endif
#pragma GCC push_options
TARGET_VNNI
#define ISA(name) name##_vnni512
#define LANES 16
#define TILE_Q 3
#define TILE_D 8
#define vf __m512
#define INTEGERS
#define vi __m512i
typedef int32_t ints16 __attribute__((vector_size(64)));
typedef float floats16 __attribute__((vector_size(64)));
INLINE __m512 number_avx512(const float *p) { return _mm512_set1_ps(*p); }
INLINE __m512i pair_avx512(const int16_t *p)
{
    int32_t pair;
    memcpy(&pair, p, 4);
    return _mm512_set1_epi32(pair);
}
INLINE __m512i dot_vnni512(__m512i a, __m512i b, __m512i sum)
{
#ifdef DOCPRUNER_SIMDE
    return _mm512_dpwssd_epi32(sum, a, b);
#else
    __asm__("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(a), "vm"(b)); /* as for dot_avx2 */
    return sum;
#endif
}
#define f_zero _mm512_setzero_ps
#define f_load _mm512_loadu_ps
#define f_store _mm512_storeu_ps
#define f_spread number_avx512
#define f_fma _mm512_fmadd_ps
#define f_max _mm512_max_ps
#define f_mul _mm512_mul_ps
#define i_zero _mm512_setzero_si512
#define i_load(p) _mm512_loadu_si512((const void *)(p))
#define i_spread pair_avx512
#define i_dot dot_vnni512
#define i_float(a) ((__m512)__builtin_convertvector((ints16)(a), floats16))
#define one_half one_half_avx2
#define halves halves_avx2
#include "tile.h"
#include "tile_undef.h"
#pragma GCC pop_options
#endif

/* ---- choosing ------------------------------------------------------------------------------- */

struct isa {
    const char *name;
    size_t lanes, tile_q, tile_d;
    int integers; /* whether rows of integers are scored as such, or as floats */
    int (*page)(const struct corpus *, const struct packed *, struct scratch *,
                const struct selection *, size_t, size_t);
    void (*products)(const struct corpus *, const struct packed *, struct scratch *,
                     const uint8_t *const *, size_t, float *);
};

static const struct isa portable = {"portable", 4, 3, 4, 0, page_portable, products_portable};
#ifdef HAVE_X86
static const struct isa avx2 = {"avx2", 8, 3, 3, 1, page_avx2, products_avx2};
static const struct isa vnni256 = {"avx512vnni", 8, 3, 5, 1, page_vnni256, products_vnni256};
static const struct isa vnni512 = {"avx512vnni", 16, 3, 8, 1, page_vnni512, products_vnni512};
#endif

/* The instruction sets this machine has, best first. Returns how many. */
static int available(const struct isa *found[3])
{
    int count = 0;
#ifdef HAVE_X86
    __builtin_cpu_init();
    int has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                   __builtin_cpu_supports("f16c");
#ifdef DOCPRUNER_SIMDE
    int has_vnni = has_avx2;
#else
    int has_vnni = has_avx2 && __builtin_cpu_supports("avx512f") &&
                   __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                   __builtin_cpu_supports("avx512vnni");
#endif
    if (has_vnni)
        found[count++] = &vnni512;
    if (has_avx2)
        found[count++] = &avx2;
#endif
    found[count++] = &portable;
    return count;
}

#ifdef HAVE_X86
/* Whether the machine does operations on 512 bits in two halves: Zen 4, as Zen 3 has none. */
static int splits_512(void)
{
#ifdef DOCPRUNER_SIMDE
    return 1; /* so that both widths are tested */
#else
    return __builtin_cpu_is("amdfam19h");
#endif
}
#endif

/* The same instruction set in shorter registers, where that leaves fewer lanes without a token. */
static const struct isa *fitting(const struct isa *isa, size_t tokens)
{
#ifdef HAVE_X86
    if (isa == &vnni512 && (tokens + 15) / 16 * 16 > (tokens + 7) / 8 * 8 && splits_512())
        return &vnni256;
#endif
    (void)tokens;
    return isa;
}

/* ---- queries -------------------------------------------------------------------------------- */

/* The factor that turns a token's numbers into 16-bit integers whose products with stored integers
 * of at most `largest` can't overflow 32 bits in the sum. */
static double integer_factor(const float *token, size_t dim, int largest)
{
    double peak = 0, total = 0;
    for (size_t i = 0; i < dim; i++) {
        double size = fabs(token[i]);
        total += size;
        if (size > peak)
            peak = size;
    }
    if (peak == 0)
        return 0;
    double by_peak = 32767 / peak;
    double room = 2147483647.0 / largest - 0.5 * (double)dim; /* each rounding adds up to a half */
    double by_sum = room > 0 ? room / total : 0;
    return by_peak < by_sum ? by_peak : by_sum;
}

static void pack_token(const struct packed *q, const struct corpus *c, const struct isa *isa,
                       const float *token, size_t index)
{
    size_t group_lanes = isa->lanes * isa->tile_q;
    size_t group = index / group_lanes, lane = index % group_lanes;
    size_t registers = group + 1 < q->groups ? isa->tile_q : (size_t)q->last_registers;
    uint8_t *place = q->tokens + group * q->group_bytes + 4 * lane; /* 4: a float, or two int16 */
    size_t step = 4 * registers * isa->lanes;
    if (!q->integers) {
        q->units[index] = 1;
        for (size_t i = 0; i < c->dim; i++)
            memcpy(place + i * step, token + i, 4);
        return;
    }
    double factor = integer_factor(token, c->dim, largest_of(c->codec));
    q->units[index] = factor > 0 ? 1 / factor : 0;
    for (size_t i = 0; i < c->dim; i++) {
        int16_t word = (int16_t)lrint(token[i] * factor);
        memcpy(place + (i / 2) * step + 2 * (i % 2), &word, 2);
    }
}

static int pack(struct packed *q, const struct corpus *c, const struct isa *isa,
                const float *tokens, size_t count)
{
    size_t group_lanes = isa->lanes * isa->tile_q;
    q->count = count;
    q->groups = (count + group_lanes - 1) / group_lanes;
    size_t in_last = count - (q->groups - 1) * group_lanes;
    q->last_registers = (int)((in_last + isa->lanes - 1) / isa->lanes);
    q->integers = isa->integers && c->codec >= INT8;
    q->steps = q->integers ? (c->dim + 1) / 2 : c->dim;
    q->group_bytes = 4 * group_lanes * q->steps;
    q->tokens = calloc(q->groups, q->group_bytes); /* unused lanes and an odd last half are zero */
    q->units = malloc(count * sizeof *q->units);
    if (!q->tokens || !q->units)
        return 0;
    for (size_t i = 0; i < count; i++)
        pack_token(q, c, isa, tokens + i * c->dim, i);
    return 1;
}

/* ---- scoring -------------------------------------------------------------------------------- */

struct job {
    struct corpus corpus;
    const struct isa *isa;
    const float *tokens;
    const int64_t *query_offsets;
    const int64_t *spans; /* (pages, 2): the first row of each page, and the row after its last */
    size_t queries, pages, first, last;
    const uint16_t *codes; /* NULL if all rows are scored, else as in a selection */
    const uint8_t *wanted;
    const float *floors; /* of each token */
    float *scores; /* (queries, pages) */
};

enum { OUT_OF_MEMORY = -2, FINE = -1 };

static int64_t score_pages(const struct job *job, const struct packed *q, struct scratch *scratch)
{
    float *floors = scratch->best + q->groups * job->isa->tile_q * job->isa->lanes;
    const struct selection some = {job->codes, job->wanted, floors};
    const struct selection *only = job->codes ? &some : NULL;
    for (size_t t = 0; only && t < q->count; t++)
        floors[t] = q->units[t] > 0 ? (float)(job->floors[t] / q->units[t]) : 0;
    for (size_t page = job->first; page < job->last; page++) {
        size_t from = (size_t)job->spans[2 * page], to = (size_t)job->spans[2 * page + 1];
        if (!job->isa->page(&job->corpus, q, scratch, only, from, to))
            return (int64_t)page;
        for (size_t query = 0; query < job->queries; query++) {
            double sum = 0;
            for (int64_t t = job->query_offsets[query]; t < job->query_offsets[query + 1]; t++)
                sum += scratch->best[t] * q->units[t];
            job->scores[query * job->pages + page] = (float)sum;
        }
    }
    return FINE;
}

/* Room to work in: for `rows` rows of similarities with all lanes. */
static int make_room(struct scratch *scratch, const struct corpus *c, const struct packed *q,
                     const struct isa *isa, size_t rows)
{
    scratch->width = 4 * ((c->dim + 15) / 16 * 16); /* floats, words and whole bytes of signs fit */
    scratch->docs = calloc(MAX_TILE_D, scratch->width);
    scratch->best = malloc(rows * q->groups * isa->tile_q * isa->lanes * sizeof(float));
    return scratch->docs && scratch->best;
}

static void leave(struct packed *q, struct scratch *scratch)
{
    free(q->tokens);
    free(q->units);
    free(scratch->docs);
    free(scratch->best);
}

/* FINE, OUT_OF_MEMORY, or the number of a page whose similarities are not finite. */
static int64_t run(const struct job *job)
{
    const struct corpus *c = &job->corpus;
    struct packed q = {0};
    struct scratch scratch = {0};
    int64_t result = OUT_OF_MEMORY;
    if (pack(&q, c, job->isa, job->tokens, (size_t)job->query_offsets[job->queries]) &&
        make_room(&scratch, c, &q, job->isa, 2))
        result = score_pages(job, &q, &scratch);
    leave(&q, &scratch);
    return result;
}

/* ---- rows by themselves --------------------------------------------------------------------- */

struct row_job {
    struct corpus corpus;
    const struct isa *isa;
    const float *tokens;
    size_t count; /* of tokens */
    size_t rows;  /* of the corpus */
};

/* ---- a heap whose root is the worst of what it holds ---- */

struct entry {
    float score;
    int32_t place;
};

/* Whether a stands after b: a lower score, or an equal one of a later place. */
static int after(struct entry a, struct entry b)
{
    return a.score < b.score || (a.score == b.score && a.place > b.place);
}

/* Put something in the place of the root, and let it sink to where it belongs. */
static void replace_worst(struct entry *heap, size_t count, struct entry moving)
{
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

/* For each token the `each` of rows [first, last) that are most similar, the best first. Rows are
 * compared as soon as they are scored, so that all the others' similarities are never written down. */
static int best_rows(const struct row_job *job, size_t first, size_t last, size_t each,
                     int32_t *places, float *values)
{
    const struct corpus *c = &job->corpus;
    const size_t most = job->isa->tile_d;
    struct packed q = {0};
    struct scratch scratch = {0};
    struct entry *heaps = malloc(job->count * each * sizeof *heaps);
    float *least = malloc(job->count * sizeof *least); /* of each heap, which most rows don't reach */
    int fine = heaps && least && pack(&q, c, job->isa, job->tokens, job->count) &&
               make_room(&scratch, c, &q, job->isa, most);
    const size_t width = q.groups * job->isa->tile_q * job->isa->lanes;
    for (size_t i = 0; fine && i < job->count * each; i++)
        heaps[i] = (struct entry){-INFINITY, INT32_MAX};
    for (size_t t = 0; fine && t < job->count; t++)
        least[t] = -INFINITY;
    for (size_t row = first; fine && row < last; row += most) {
        const uint8_t *rows[MAX_TILE_D];
        size_t some = last - row < most ? last - row : most;
        for (size_t d = 0; d < some; d++)
            rows[d] = c->rows + (row + d) * c->stride;
        job->isa->products(c, &q, &scratch, rows, some, scratch.best);
        for (size_t d = 0; d < some; d++) {
            const float *scores = scratch.best + d * width;
            int reached = 0;
            for (size_t t = 0; t < job->count; t++)
                reached |= scores[t] > least[t];
            for (size_t t = 0; reached && t < job->count; t++)
                if (scores[t] > least[t]) {
                    struct entry *heap = heaps + t * each;
                    replace_worst(heap, each, (struct entry){scores[t], (int32_t)(row + d)});
                    least[t] = heap[0].score;
                }
        }
    }
    for (size_t t = 0; fine && t < job->count; t++) {
        qsort(heaps + t * each, each, sizeof *heaps, by_rank);
        for (size_t i = t * each; i < (t + 1) * each; i++) {
            places[i] = heaps[i].place;
            values[i] = (float)(heaps[i].score * q.units[t]);
        }
    }
    free(heaps);
    free(least);
    leave(&q, &scratch);
    return fine;
}

/* The `each` highest of `count` values, the highest first; of equals the first. */
static void highest(const float *values, size_t count, size_t each, int32_t *places, float *best)
{
    size_t filled = 0;
    for (size_t i = 0; i < count; i++) {
        if (filled == each && !(values[i] > best[each - 1]))
            continue;
        size_t at = filled < each ? filled++ : each - 1;
        for (; at > 0 && values[i] > best[at - 1]; at--) {
            best[at] = best[at - 1];
            places[at] = places[at - 1];
        }
        best[at] = values[i];
        places[at] = (int32_t)i;
    }
}

/* For each picked row the tokens whose similarity less their bias is highest, (picks, each). */
static int nearest_tokens(const struct row_job *job, const float *biases, const int64_t *picks,
                          size_t count, size_t each, int32_t *places, float *best)
{
    const struct corpus *c = &job->corpus;
    const size_t most = job->isa->tile_d;
    struct packed q = {0};
    struct scratch scratch = {0};
    int fine = pack(&q, c, job->isa, job->tokens, job->count) &&
               make_room(&scratch, c, &q, job->isa, most + 1);
    const size_t width = q.groups * job->isa->tile_q * job->isa->lanes;
    float *units = scratch.best + most * width; /* as floats */
    for (size_t t = 0; fine && t < job->count; t++)
        units[t] = (float)q.units[t];
    for (size_t first = 0; fine && first < count; first += most) {
        const uint8_t *rows[MAX_TILE_D];
        size_t some = count - first < most ? count - first : most;
        for (size_t d = 0; d < some; d++)
            rows[d] = c->rows + (size_t)picks[first + d] * c->stride;
        job->isa->products(c, &q, &scratch, rows, some, scratch.best);
        for (size_t d = 0; d < some; d++) {
            float *values = scratch.best + d * width;
            for (size_t t = 0; t < job->count; t++)
                values[t] = values[t] * units[t] - biases[t];
            highest(values, job->count, each, places + (first + d) * each, best + (first + d) * each);
        }
    }
    leave(&q, &scratch);
    return fine;
}

/* ---- Python --------------------------------------------------------------------------------- */

/* Offsets and spans must be checked here too: a wrong one would read outside the buffers. */
static int offsets_fit(const Py_buffer *b, Py_ssize_t end)
{
    const int64_t *offsets = b->buf;
    Py_ssize_t count = b->len / 8;
    if (b->len % 8 || count < 2 || offsets[0] != 0 || offsets[count - 1] != end)
        return 0;
    for (Py_ssize_t i = 0; i + 1 < count; i++)
        if (offsets[i] >= offsets[i + 1])
            return 0;
    return 1;
}

static int spans_fit(const Py_buffer *b, Py_ssize_t end)
{
    const int64_t *spans = b->buf;
    Py_ssize_t count = b->len / 8;
    if (b->len % 16 || count < 2)
        return 0;
    for (Py_ssize_t i = 0; i < count; i += 2)
        if (spans[i] < 0 || spans[i] >= spans[i + 1] || spans[i + 1] > end)
            return 0;
    return 1;
}

static const struct isa *isa_named(const char *name)
{
    const struct isa *found[3];
    int count = available(found);
    for (int i = 0; i < count; i++)
        if (strcmp(found[i]->name, name) == 0)
            return found[i];
    return NULL;
}

static const char *arrange_corpus(struct corpus *c, const Py_buffer *tokens, const Py_buffer *rows,
                                  Py_ssize_t dim, int codec)
{
    if (dim < 1 || codec < FLOAT32 || codec >= CODECS)
        return "dim or codec is out of range";
    c->dim = (size_t)dim;
    c->codec = (enum codec)codec;
    const size_t strides[] = {4 * c->dim,           2 * c->dim,           c->dim + 2,
                              (c->dim + 7) / 8,     (c->dim + 1) / 2 + 2, (c->dim + 3) / 4 + 2,
                              (c->dim + 7) / 8 + 2};
    c->stride = strides[codec];
    c->rows = rows->buf;
    c->binary_unit = (float)(1 / sqrt((double)dim));
    if (tokens->len % (4 * dim) || rows->len % (Py_ssize_t)c->stride)
        return "tokens or rows are not whole";
    return NULL;
}

static const char *arrange(struct job *job, const Py_buffer *tokens, const Py_buffer *query_offsets,
                           const Py_buffer *rows, const Py_buffer *spans,
                           const Py_buffer *scores, Py_ssize_t dim, int codec, const char *isa)
{
    const char *wrong = arrange_corpus(&job->corpus, tokens, rows, dim, codec);
    if (wrong)
        return wrong;
    job->isa = isa_named(isa);
    if (!job->isa)
        return "no such instruction set on this machine";
    if (!offsets_fit(query_offsets, tokens->len / (4 * dim)) ||
        !spans_fit(spans, rows->len / (Py_ssize_t)job->corpus.stride))
        return "offsets or spans don't fit";
    job->tokens = tokens->buf;
    job->query_offsets = query_offsets->buf;
    job->spans = spans->buf;
    job->queries = (size_t)query_offsets->len / 8 - 1;
    job->pages = (size_t)spans->len / 16;
    job->isa = fitting(job->isa, (size_t)job->query_offsets[job->queries]);
    job->scores = scores->buf;
    if ((size_t)scores->len != job->queries * job->pages * 4)
        return "scores has the wrong size";
    if (job->first > job->last || job->last > job->pages)
        return "pages are out of range";
    return NULL;
}

static const char *arrange_rows(struct row_job *job, const Py_buffer *tokens, const Py_buffer *rows,
                                Py_ssize_t dim, int codec, const char *isa)
{
    const char *wrong = arrange_corpus(&job->corpus, tokens, rows, dim, codec);
    if (wrong)
        return wrong;
    job->isa = isa_named(isa);
    job->tokens = tokens->buf;
    job->count = (size_t)tokens->len / 4 / (size_t)dim;
    job->rows = (size_t)rows->len / job->corpus.stride;
    if (!job->isa || job->count < 1)
        return "no such instruction set on this machine, or no tokens";
    job->isa = fitting(job->isa, job->count);
    return NULL;
}

/* Empty buffers mean that all rows are scored. */
static const char *arrange_selection(struct job *job, const Py_buffer *codes,
                                     const Py_buffer *wanted, const Py_buffer *floors,
                                     size_t tokens, size_t rows)
{
    if (!codes->len && !wanted->len && !floors->len)
        return NULL;
    if ((size_t)codes->len != 2 * rows || wanted->len != 1 << 16 ||
        (size_t)floors->len != 4 * tokens)
        return "codes, wanted or floors have the wrong size";
    job->codes = codes->buf;
    job->wanted = wanted->buf;
    job->floors = floors->buf;
    return NULL;
}

static PyObject *score(PyObject *self, PyObject *args)
{
    (void)self;
    Py_buffer tokens, query_offsets, rows, spans, scores, codes, wanted, floors;
    Py_ssize_t dim, first, last;
    int codec;
    const char *isa;
    if (!PyArg_ParseTuple(args, "y*y*y*y*w*ninnsy*y*y*", &tokens, &query_offsets, &rows, &spans,
                          &scores, &dim, &codec, &first, &last, &isa, &codes, &wanted, &floors))
        return NULL;
    struct job job = {.first = (size_t)first, .last = (size_t)last};
    const char *wrong = arrange(&job, &tokens, &query_offsets, &rows, &spans, &scores, dim,
                                codec, isa);
    if (!wrong)
        wrong = arrange_selection(&job, &codes, &wanted, &floors,
                                  (size_t)job.query_offsets[job.queries],
                                  (size_t)rows.len / job.corpus.stride);
    int64_t result = FINE;
    if (!wrong) {
        Py_BEGIN_ALLOW_THREADS
        result = run(&job);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&tokens);
    PyBuffer_Release(&query_offsets);
    PyBuffer_Release(&rows);
    PyBuffer_Release(&spans);
    PyBuffer_Release(&scores);
    PyBuffer_Release(&codes);
    PyBuffer_Release(&wanted);
    PyBuffer_Release(&floors);
    if (wrong) {
        PyErr_SetString(PyExc_ValueError, wrong);
        return NULL;
    }
    if (result == OUT_OF_MEMORY)
        return PyErr_NoMemory();
    return PyLong_FromLongLong(result);
}

static PyObject *outcome(const char *wrong, int fine)
{
    if (wrong) {
        PyErr_SetString(PyExc_ValueError, wrong);
        return NULL;
    }
    if (!fine)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyObject *best(PyObject *self, PyObject *args)
{
    (void)self;
    Py_buffer tokens, rows, places, values;
    Py_ssize_t dim, first, last;
    int codec, fine = 0;
    const char *isa;
    if (!PyArg_ParseTuple(args, "y*y*w*w*ninns", &tokens, &rows, &places, &values, &dim, &codec,
                          &first, &last, &isa))
        return NULL;
    struct row_job job;
    const char *wrong = arrange_rows(&job, &tokens, &rows, dim, codec, isa);
    size_t each = wrong ? 0 : (size_t)places.len / 4 / job.count;
    if (!wrong && (first < 0 || first > last || (size_t)last > job.rows || last > INT32_MAX ||
                   each < 1 || each > (size_t)(last - first) || places.len != values.len ||
                   (size_t)places.len != 4 * each * job.count))
        wrong = "rows are out of range, or places and values have the wrong size";
    if (!wrong) {
        Py_BEGIN_ALLOW_THREADS
        fine = best_rows(&job, (size_t)first, (size_t)last, each, places.buf, values.buf);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&tokens);
    PyBuffer_Release(&rows);
    PyBuffer_Release(&places);
    PyBuffer_Release(&values);
    return outcome(wrong, fine);
}

static const char *picks_fit(const struct row_job *job, const Py_buffer *biases,
                             const Py_buffer *picks, const Py_buffer *places, const Py_buffer *best,
                             Py_ssize_t each)
{
    size_t count = (size_t)picks->len / 8;
    if (each < 1 || (size_t)each > job->count || (size_t)biases->len != 4 * job->count ||
        places->len != best->len || (size_t)best->len != 4 * count * (size_t)each)
        return "biases, places or values have the wrong size";
    for (size_t i = 0; i < count; i++)
        if (((const uint64_t *)picks->buf)[i] >= job->rows)
            return "a picked row is out of range";
    return NULL;
}

static PyObject *nearest(PyObject *self, PyObject *args)
{
    (void)self;
    Py_buffer tokens, biases, rows, picks, places, best;
    Py_ssize_t dim, each;
    int codec, fine = 0;
    const char *isa;
    if (!PyArg_ParseTuple(args, "y*y*y*y*w*w*nins", &tokens, &biases, &rows, &picks, &places, &best,
                          &dim, &codec, &each, &isa))
        return NULL;
    struct row_job job;
    const char *wrong = arrange_rows(&job, &tokens, &rows, dim, codec, isa);
    if (!wrong)
        wrong = picks_fit(&job, &biases, &picks, &places, &best, each);
    if (!wrong) {
        Py_BEGIN_ALLOW_THREADS
        fine = nearest_tokens(&job, biases.buf, picks.buf, (size_t)picks.len / 8, (size_t)each,
                              places.buf, best.buf);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&tokens);
    PyBuffer_Release(&biases);
    PyBuffer_Release(&rows);
    PyBuffer_Release(&picks);
    PyBuffer_Release(&places);
    PyBuffer_Release(&best);
    return outcome(wrong, fine);
}

static PyObject *instruction_sets(PyObject *self, PyObject *args)
{
    (void)self, (void)args;
    const struct isa *found[3];
    int count = available(found);
    PyObject *names = PyTuple_New(count);
    for (int i = 0; names && i < count; i++)
        PyTuple_SetItem(names, i, PyUnicode_FromString(found[i]->name));
    return names;
}

static PyMethodDef methods[] = {
    {"score", score, METH_VARARGS,
     "score(tokens, query_offsets, rows, spans, scores, dim, codec, first, last, isa, codes, wanted,\n"
     "floors)\n"
     "Score pages first..last. Returns -1, or a page whose similarities are not finite."},
    {"best", best, METH_VARARGS,
     "best(tokens, rows, places, values, dim, codec, first, last, isa)\n"
     "For each token the rows of first..last that are most similar to it, the best first."},
    {"nearest", nearest, METH_VARARGS,
     "nearest(tokens, biases, rows, picks, places, values, dim, codec, each, isa)\n"
     "For each picked row the tokens whose similarity less their bias is highest, and by how much."},
    {"instruction_sets", instruction_sets, METH_NOARGS, "Names this machine can run, best first."},
    {NULL, NULL, 0, NULL},
};

static int prepare(PyObject *module)
{
    (void)module;
    for (int byte = 0; byte < 256; byte++)
        for (int bit = 0; bit < 8; bit++)
            signs_of_byte[byte][bit] = byte >> bit & 1 ? 1 : -1;
    return 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, prepare}, {0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "docpruner._maxsim", "Native MaxSim.", 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__maxsim(void) { return PyModuleDef_Init(&module); }
