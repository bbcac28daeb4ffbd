/* Registers of 256 bits for tile.h: everything but ISA, TILE_D and i_dot. */
#define LANES 8
#define TILE_Q 3
#define vf __m256
#define INTEGERS
#define vi __m256i
#define f_zero _mm256_setzero_ps
#define f_load _mm256_loadu_ps
#define f_store _mm256_storeu_ps
#define f_spread _mm256_broadcast_ss
#define f_fma _mm256_fmadd_ps
#define f_max _mm256_max_ps
#define f_mul _mm256_mul_ps
#define i_zero _mm256_setzero_si256
#define i_load(p) _mm256_loadu_si256((const void *)(p))
#define i_spread pair_avx2
#define i_float _mm256_cvtepi32_ps
#define one_half one_half_avx2
#define halves halves_avx2
