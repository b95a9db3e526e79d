/* More kernels, chosen for instructions that kernels.c has not: rotates, counts of zeros, byte-reversed and
   indexed accesses, signed products, conditions, tables of functions. Freestanding, without libgcc. */
typedef unsigned int u32;
typedef unsigned short u16;
typedef unsigned char u8;
typedef unsigned long long u64;
typedef signed char s8;
typedef int s32;
typedef short s16;
typedef long long s64;

#define N 512
static u32 words[N];
static s16 halves[N];
static s8 signed_bytes[N];
static u8 text[4 * N];

u32 results[16];

static u32 rotated(u32 x, u32 n)
{
    return x << (n & 31) | x >> (-n & 31);
}

/* A hash with rotates by constants and by variables. */
static u32 hash(const u32 *p, u32 n)
{
    u32 a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476;
    for (u32 i = 0; i < n; i++) {
        u32 f = i & 1 ? (b & c) | (~b & d) : i & 2 ? b ^ c ^ d : c ^ (b | ~d);
        u32 t = d;
        d = c;
        c = b;
        b += rotated(a + f + p[i] + 0x5bd1e995u * i, i * 7 + (p[i] >> 28));
        a = rotated(t, 11) ^ ~(b & a);
    }
    return a ^ rotated(b, 5) ^ ~c ^ (d & ~a) ^ (c | ~b);
}

/* Normalises numbers by their leading zeros. */
static u32 zeros(const u32 *p, u32 n)
{
    u32 sum = 0;
    for (u32 i = 0; i < n; i++) {
        u32 x = p[i] >> (p[i] & 31);
        u32 z = x ? __builtin_clz(x) : 32;
        sum = sum * 33 + z + (x << (z & 31)) + !x + (x == z) + (x < z);
    }
    return sum;
}

static u32 swapped(const u32 *p, const s16 *h, u32 n)
{
    u32 sum = 0;
    for (u32 i = 0; i < n; i++) {
        sum += __builtin_bswap32(p[i]) ^ __builtin_bswap16((u16)h[n - 1 - i]);
        words[i] = __builtin_bswap32(sum);
        halves[i] = (s16)__builtin_bswap16((u16)sum);
    }
    return sum;
}

/* Signed products of all sizes, high halves, divisions by constants. */
static u64 products(const s16 *h, const s8 *b, u32 n)
{
    s64 sum = 0;
    for (u32 i = 1; i < n; i++) {
        s32 x = h[i] * h[i - 1], y = (s32)words[i];
        sum += (s64)x * y;
        sum -= (u64)words[i] * words[i - 1] >> 32;
        sum ^= (s64)(b[i] * 3 - y / 7 + y % 11 - (s32)(words[i] / 10));
        sum += y >> (i & 31);
        sum += y / 16;
    }
    return (u64)sum;
}

/* A filter over signed halfwords and bytes, saturating. */
static u32 filter(s16 *h, s8 *b, u32 n)
{
    u32 clipped = 0;
    for (u32 i = 2; i < n; i++) {
        s32 v = (h[i] * 5 + h[i - 1] * -3 + h[i - 2] + b[i]) >> 2;
        if (v > 32767) {
            v = 32767;
            clipped++;
        } else if (v < -32768) {
            v = -32768;
            clipped += 0x10000;
        }
        h[i] = (s16)v;
        b[i] = (s8)(v < 0 ? -v >> 8 : v);
    }
    return clipped;
}

static u32 add(u32 a, u32 b) { return a + b; }
static u32 nand(u32 a, u32 b) { return ~(a & b); }
static u32 nor(u32 a, u32 b) { return ~(a | b); }
static u32 equal(u32 a, u32 b) { return ~(a ^ b); }
static u32 less(u32 a, u32 b) { return (s32)a < (s32)b; }
static u32 carry(u32 a, u32 b) { return a + b < a; }
static u32 (*const operations[])(u32, u32) = {add, nand, nor, equal, less, carry, rotated};

/* A little machine whose program is the text. */
static u32 machine(const u8 *program, u32 n)
{
    u32 stack[16], top = 0, sum = 0;
    for (u32 i = 0; i < 16; i++)
        stack[i] = 0x01000193u * (i + 1);
    for (u32 i = 0; i < n; i++) {
        u32 op = program[i] % (sizeof operations / sizeof *operations);
        u32 value = operations[op](stack[top & 15], stack[(top + program[i] / 8) & 15]);
        stack[++top & 15] += value;
        sum = sum * 5 + value;
    }
    return sum ^ stack[top & 15];
}

static int compared(const u8 *a, const u8 *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a - *b;
}

static u32 strings(void)
{
    u32 less_than = 0, length = 0;
    for (u32 i = 0; i + 64 < sizeof text; i += 16) {
        int order = compared(text + i, text + i + 32);
        less_than = less_than * 3 + (order < 0) + (order <= 0);
        for (const u8 *p = text + i; *p && *p != 'q'; p++)
            length += *p >= 'a' && *p <= 'z' ? 1 : 100;
    }
    return less_than ^ length;
}

static u32 depth(u32 a, u32 b)
{
    if (b == 0)
        return a;
    u32 r = depth(b, a - a / b * b);
    return r * 3 + (a & 1 ? r >> 3 : -a);
}

static u64 shifts(u64 x, u32 n)
{
    u64 sum = 0;
    for (u32 i = 0; i < n; i++) {
        sum += x << (i & 63) ^ x >> ((i * 3) & 63) ^ (u64)((s64)x >> ((i * 5) & 63));
        x = x * 6364136223846793005ull + 1442695040888963407ull;
        sum -= ~x & (u64)-(s64)(x >> 63);
    }
    return sum;
}

void kernels(u32 rounds)
{
    for (u32 r = 0; r < rounds; r++) {
        u32 k = 0, seed = 4711 + r;
        for (u32 i = 0; i < N; i++) {
            words[i] = seed = seed * 1664525u + 1013904223u;
            halves[i] = (s16)(seed >> 9);
            signed_bytes[i] = (s8)(seed >> 17);
            for (u32 j = 0; j < 4; j++)
                text[4 * i + j] = i % 8 == 7 ? 0 : (u8)('a' + (seed >> (4 + 7 * j)) % 26);
        }
        results[k++] = hash(words, N);
        results[k++] = zeros(words, N);
        results[k++] = filter(halves, signed_bytes, N);
        results[k++] = swapped(words, halves, N);
        u64 x = products(halves, signed_bytes, N);
        results[k++] = (u32)x;
        results[k++] = (u32)(x >> 32);
        results[k++] = machine(text, sizeof text);
        results[k++] = strings();
        results[k++] = depth(seed, 0x10001 + r);
        x = shifts(0x9e3779b97f4a7c15ull + r, 300);
        results[k++] = (u32)x;
        results[k++] = (u32)(x >> 32);
        results[k++] = hash(words, N);
    }
}
