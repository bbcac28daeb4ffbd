/* The scoring loop, written once and compiled for each instruction set.
 *
 * Included by maxsim.c with these defined:
 *   ISA(name)          name with the instruction set's suffix
 *   LANES              query tokens held by one vector register
 *   TILE_Q, TILE_D     registers of query tokens × stored vectors worked on at once
 *   vf                 a vector of LANES floats, with f_zero f_load f_store f_spread f_fma f_max
 *   one_half, halves   16-bit floats to floats: one of them, a row of them
 *   INTEGERS           where rows of integers are scored as such; then also
 *   vi                 a vector of LANES 32-bit integers, with i_zero i_load i_spread i_dot i_float
 *                      and f_mul
 *
 * Query tokens lie in the lanes, so the maximum over a page is taken lane by lane and nothing is
 * ever summed across a register. Stored vectors come one number at a time (floats) or two (16-bit
 * integers) and are spread over the lanes. A tile that runs past the end of a page repeats the
 * page's last vector, which can't change a maximum: no padding exists that could win it.
 */

/* Similarities of TILE_D vectors with nq registers of query tokens. Without a stride, out has the
 * largest of each token so far, and numbers that are not finite leave a NaN in bad; with one, out has
 * a row of that length for each vector, and gets them all. */
INLINE void ISA(tile_float)(const float *const *docs, const float *query, size_t dim, float *out,
                            const size_t stride, vf *bad, const int nq)
{
    vf acc[TILE_D][TILE_Q];
    for (int d = 0; d < TILE_D; d++)
        for (int q = 0; q < nq; q++)
            acc[d][q] = f_zero();
    for (size_t s = 0; s < dim; s++) {
        vf tokens[TILE_Q];
        for (int q = 0; q < nq; q++)
            tokens[q] = f_load(query + (s * nq + q) * LANES);
        for (int d = 0; d < TILE_D; d++) {
            vf number = f_spread(docs[d] + s);
            for (int q = 0; q < nq; q++)
                acc[d][q] = f_fma(number, tokens[q], acc[d][q]);
        }
    }
    if (stride) {
        for (int d = 0; d < TILE_D; d++)
            for (int q = 0; q < nq; q++)
                f_store(out + d * stride + q * LANES, acc[d][q]);
        return;
    }
    for (int q = 0; q < nq; q++) {
        vf top = f_load(out + q * LANES);
        for (int d = 0; d < TILE_D; d++) {
            top = f_max(top, acc[d][q]);
            *bad = f_fma(acc[d][q], f_zero(), *bad);
        }
        f_store(out + q * LANES, top);
    }
}

#ifdef INTEGERS
/* The same for 16-bit integers; scales holds what one unit of each vector is worth. */
INLINE void ISA(tile_int)(const int16_t *const *docs, const float *scales, const int32_t *query,
                          size_t pairs, float *out, const size_t stride, vf *bad, const int nq)
{
    vi acc[TILE_D][TILE_Q];
    for (int d = 0; d < TILE_D; d++)
        for (int q = 0; q < nq; q++)
            acc[d][q] = i_zero();
    for (size_t s = 0; s < pairs; s++) {
        vi tokens[TILE_Q];
        for (int q = 0; q < nq; q++)
            tokens[q] = i_load(query + (s * nq + q) * LANES);
        for (int d = 0; d < TILE_D; d++) {
            vi pair = i_spread(docs[d] + 2 * s);
            for (int q = 0; q < nq; q++)
                acc[d][q] = i_dot(pair, tokens[q], acc[d][q]);
        }
    }
    if (stride) {
        for (int d = 0; d < TILE_D; d++)
            for (int q = 0; q < nq; q++) {
                vf similarity = f_mul(i_float(acc[d][q]), f_spread(scales + d));
                f_store(out + d * stride + q * LANES, similarity);
            }
        return;
    }
    for (int q = 0; q < nq; q++) {
        vf top = f_load(out + q * LANES);
        for (int d = 0; d < TILE_D; d++) {
            vf similarity = f_mul(i_float(acc[d][q]), f_spread(scales + d));
            top = f_max(top, similarity);
            *bad = f_fma(similarity, f_zero(), *bad);
        }
        f_store(out + q * LANES, top);
    }
}

INLINE void ISA(widen_int)(const struct corpus *c, const uint8_t *row, int16_t *restrict out,
                           float *scale)
{
    const int8_t *restrict bytes = (const int8_t *)row;
    switch (c->codec) {
    case INT8:
        for (size_t i = 0; i < c->dim; i++)
            out[i] = bytes[i];
        break;
    case INT4:
        levels_avx2(row, c->stride - 2, 4, levels_4, out);
        break;
    case INT2:
        levels_avx2(row, c->stride - 2, 2, levels_2, out);
        break;
    default: /* signs */
        for (size_t i = 0; i < (c->dim + 7) / 8; i++)
            memcpy(out + 8 * i, signs_of_byte[row[i]], 16);
    }
    *scale = c->codec == BINARY ? c->binary_unit : one_half(row + c->stride - 2);
}
#endif

/* One stored vector as floats. Copying float32 too costs little, and rows of a mapped file may lie at
 * any address. */
INLINE void ISA(widen_float)(const struct corpus *c, const uint8_t *row, float *restrict out)
{
    const int8_t *restrict bytes = (const int8_t *)row;
    float scale;
    switch (c->codec) {
    case FLOAT32:
        memcpy(out, row, 4 * c->dim);
        break;
    case FLOAT16:
        halves(row, out, c->dim);
        break;
    case INT8:
        scale = one_half(row + c->dim);
        for (size_t i = 0; i < c->dim; i++)
            out[i] = bytes[i] * scale;
        break;
    case BINARY:
    case INT1:
        scale = c->codec == BINARY ? c->binary_unit : one_half(row + c->stride - 2);
        for (size_t i = 0; i < c->dim; i++)
            out[i] = signs_of_byte[row[i / 8]][i % 8] * scale;
        break;
    case INT4:
    case INT2:
    default: {
        const int bits = c->codec == INT4 ? 4 : 2;
        const int8_t *levels = bits == 4 ? levels_4 : levels_2;
        const size_t width = c->stride - 2;
        scale = one_half(row + width);
        for (size_t start = 0, plane = 0; start < c->dim; start += width, plane += (size_t)bits)
            for (size_t i = 0; i < width && start + i < c->dim; i++)
                out[start + i] = levels[row[i] >> plane & ((1 << bits) - 1)] * scale;
    }
    }
}

/* `count` vectors for one tile, widened; what is left of it has the last one again. */
INLINE void ISA(tile_rows)(const struct corpus *c, const struct packed *q, struct scratch *scratch,
                           const uint8_t *const *rows, size_t count, const void **docs,
                           float *scales)
{
    (void)q; /* only asked whether it is integers, where there are any */
    for (size_t d = 0; d < TILE_D; d++) {
        if (d >= count) {
            docs[d] = docs[d - 1];
            scales[d] = scales[d - 1];
            continue;
        }
        void *wide = scratch->docs + d * scratch->width;
        docs[d] = wide;
        scales[d] = 1;
#ifdef INTEGERS
        if (q->integers) {
            ISA(widen_int)(c, rows[d], wide, scales + d);
            continue;
        }
#endif
        ISA(widen_float)(c, rows[d], wide);
    }
}

/* One tile against all query tokens; out is as in tile_float, for all groups together. */
INLINE void ISA(tile)(const struct corpus *c, const struct packed *q, struct scratch *scratch,
                      const uint8_t *const *rows, size_t count, float *out, const size_t stride,
                      vf *bad)
{
    const void *docs[TILE_D];
    float scales[TILE_D];
    ISA(tile_rows)(c, q, scratch, rows, count, docs, scales);
    for (size_t g = 0; g < q->groups; g++) {
        const int nq = g + 1 < q->groups ? TILE_Q : q->last_registers;
        const void *tokens = q->tokens + g * q->group_bytes;
        float *place = out + g * TILE_Q * LANES;
#ifdef INTEGERS
        if (q->integers) {
            FOR_CONSTANT_NQ(ISA(tile_int)((const int16_t *const *)docs, scales, tokens, q->steps,
                                          place, stride, bad, NQ))
            continue;
        }
#endif
        FOR_CONSTANT_NQ(ISA(tile_float)((const float *const *)docs, tokens, q->steps, place, stride,
                                        bad, NQ))
    }
}

/* Largest similarity of each query token with the vectors of one page, or with those that are worth
 * it, into scratch->best. Returns 0 if a similarity is not finite. */
static int ISA(page)(const struct corpus *c, const struct packed *q, struct scratch *scratch,
                     const struct selection *only, size_t first, size_t last)
{
    vf bad = f_zero();
    const size_t lanes = q->groups * TILE_Q * LANES;
    for (size_t i = 0; i < lanes; i++)
        scratch->best[i] = only ? (i < q->count ? only->floors[i] : 0) : -INFINITY;
    const uint8_t *rows[TILE_D];
    size_t count = 0;
    for (size_t row = first; row < last; row++) {
        if (only && !only->wanted[only->codes[row]])
            continue;
        rows[count++] = c->rows + row * c->stride;
        if (count == TILE_D) {
            ISA(tile)(c, q, scratch, rows, count, scratch->best, 0, &bad);
            count = 0;
        }
    }
    if (count)
        ISA(tile)(c, q, scratch, rows, count, scratch->best, 0, &bad);
    float sums[LANES];
    f_store(sums, bad);
    for (int i = 0; i < LANES; i++)
        if (sums[i] != 0)
            return 0;
    return 1;
}

/* All similarities of up to TILE_D vectors, each in a row of out. */
static void ISA(products)(const struct corpus *c, const struct packed *q, struct scratch *scratch,
                          const uint8_t *const *rows, size_t count, float *out)
{
    vf bad = f_zero();
    ISA(tile)(c, q, scratch, rows, count, out, q->groups * TILE_Q * LANES, &bad);
}
