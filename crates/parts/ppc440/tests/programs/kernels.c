/* Kernels whose results the test knows from running the same C natively. Freestanding. */
typedef unsigned int u32;
typedef unsigned short u16;
typedef unsigned char u8;
typedef unsigned long long u64;
typedef int s32;
typedef short s16;

static u32 crc32(const u8 *p, u32 n)
{
    u32 c = ~0u;
    while (n--) {
        c ^= *p++;
        for (int k = 0; k < 8; k++)
            c = c & 1 ? c >> 1 ^ 0xedb88320u : c >> 1;
    }
    return ~c;
}

static u32 sieve(u8 *flag, u32 n)
{
    u32 count = 0;
    for (u32 i = 0; i < n; i++)
        flag[i] = 1;
    for (u32 i = 2; i < n; i++) {
        if (!flag[i])
            continue;
        count++;
        for (u32 j = i + i; j < n; j += i)
            flag[j] = 0;
    }
    return count;
}

struct node {
    struct node *next;
    u32 key;
    s16 weight;
    u8 tag;
};

static u32 lists(struct node *pool, u32 n)
{
    struct node *heads[16];
    u32 sum = 0, seed = 12345;
    for (u32 i = 0; i < 16; i++)
        heads[i] = 0;
    for (u32 i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        pool[i].key = seed;
        pool[i].weight = (s16)(seed >> 8);
        pool[i].tag = (u8)(seed >> 24);
        pool[i].next = heads[seed >> 28];
        heads[seed >> 28] = &pool[i];
    }
    for (u32 i = 0; i < 16; i++)
        for (struct node *p = heads[i]; p; p = p->next)
            sum = sum * 31 + p->key + (u32)(s32)p->weight * p->tag;
    return sum;
}

static u32 macs(const s16 *a, const s16 *b, u32 n)
{
    s32 sum = 0;
    u32 unsigned_sum = 0;
    for (u32 i = 0; i < n; i++) {
        sum += a[i] * b[n - 1 - i];
        unsigned_sum += (u32)(u16)a[i] * (u16)b[i];
    }
    return (u32)sum ^ unsigned_sum;
}

static void sort(s32 *v, s32 lo, s32 hi)
{
    s32 i = lo, j = hi, pivot = v[(lo + hi) / 2];
    while (i <= j) {
        while (v[i] < pivot)
            i++;
        while (v[j] > pivot)
            j--;
        if (i <= j) {
            s32 t = v[i];
            v[i++] = v[j];
            v[j--] = t;
        }
    }
    if (lo < j)
        sort(v, lo, j);
    if (i < hi)
        sort(v, i, hi);
}

static u64 wide(u64 x, u32 n)
{
    u64 sum = 0;
    for (u32 i = 0; i < n; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        sum += x * (i | 1);
        sum -= (u32)x / (i + 3u) + (u32)x % (i + 7u);
        sum += (u64)((s32)x / (s32)(i + 5));
    }
    return sum;
}

static u32 branches(u32 n)
{
    u32 state = 1, out = 0;
    for (u32 i = 0; i < n; i++) {
        state = state * 1103515245u + 12345;
        switch (state >> 16 & 7) {
        case 0: out += i; break;
        case 1: out ^= state; break;
        case 2: out = out << 3 | out >> 29; break;
        case 3: out -= i * 3; break;
        case 4: if (out & 1) out >>= 1; else out += 5; break;
        case 5: out = ~out; break;
        case 6: out += (s32)out < 0 ? 1 : 2; break;
        default: out *= 7;
        }
    }
    return out;
}

#pragma pack(1)
struct packed {
    u8 a;
    u32 b;
    u16 c;
    u64 d;
};
#pragma pack()

static u32 unaligned(u8 *p, u32 n)
{
    u32 sum = 0;
    for (u32 i = 0; i + sizeof(struct packed) <= n; i += 7) {
        struct packed *q = (struct packed *)(p + i);
        q->b = q->b * 5 + i;
        q->c = (u16)(q->c + q->a);
        q->d ^= (u64)q->b << 21;
        sum = sum * 131 + q->b + q->c + (u32)q->d;
    }
    return sum;
}

#define N 1024
static u8 bytes[4 * N];
static struct node pool[N / 4];
static s32 words[N];

u32 results[16];

void kernels(u32 rounds)
{
    for (u32 r = 0; r < rounds; r++) {
        u32 k = 0, seed = 99 + r;
        for (u32 i = 0; i < sizeof bytes; i++) {
            seed = seed * 1664525u + 1013904223u;
            bytes[i] = (u8)(seed >> 20);
        }
        results[k++] = crc32(bytes, sizeof bytes / 4);
        results[k++] = unaligned(bytes, 1000);
        results[k++] = macs((const s16 *)bytes, (const s16 *)(bytes + N), N / 2);
        for (u32 i = 0; i < N; i++)
            words[i] = (s32)(seed = seed * 1664525u + 1013904223u);
        sort(words, 0, N - 1);
        u32 sum = 0;
        for (u32 i = 0; i < N; i++)
            sum = sum * 33 + (u32)words[i];
        results[k++] = sum;
        results[k++] = sieve(bytes, sizeof bytes);
        results[k++] = lists(pool, N / 4);
        u64 x = wide(0x123456789abcdefull + r, 500);
        results[k++] = (u32)x;
        results[k++] = (u32)(x >> 32);
        results[k++] = branches(3000);
    }
}
