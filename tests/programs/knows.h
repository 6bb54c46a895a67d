/* The functions of knows.c that write, read and copy: many bodies, so that many kinds of code access memory. Each
 * stores one tag, its own; those that read count the tags that they find in the row that they are given. */
#include <stddef.h>

typedef unsigned char byte;

#define APART __attribute__((noinline, noipa))

#if defined(__x86_64__)
#define X86 1
#else
#define X86 0
#endif

/* Whatever their alignment. Loads are volatile, so that each is one; stores are not: a volatile one that is not aligned may be made
 * of a load and a store of each byte. */
typedef struct __attribute__((packed, may_alias)) { unsigned long value; } Word;
typedef struct __attribute__((packed, may_alias)) { unsigned value; } Int;
typedef struct __attribute__((packed, may_alias)) { unsigned short value; } Pair;
typedef byte Vector __attribute__((vector_size(16), aligned(1), may_alias));
typedef struct { byte byte[24]; } Struct;

enum { WRITERS = 32, READERS = 32, COPIERS = 16, PACKERS = 8, LOCAL = 48 };

/* Tags: whose bytes hold them. What holds 0 was written by nobody. */
enum { OF_WRITER = 1, OF_COPIER = 33, OF_HANDLER = 49, OF_CHILD = 51, OF_CONSTANTS = 60, OF_DATA, OF_FILE = 64,
       OF_CHANNEL = 128, OF_EVENT = 250 };

/* ---- bodies of writers: to, n, TAG, SELF ---- */

#define EACH(type, rest) size_t i = 0; for (; i + sizeof(type) <= n; i += sizeof(type)) { rest; }
#define WRITE_REST for (; i < n; i++) ((volatile byte *)to)[i] = TAG;

#define WRITE_BYTES for (size_t i = 0; i < n; i++) ((volatile byte *)to)[i] = TAG;
/* The compiler may make vectors of it. */
#define WRITE_LOOP for (size_t i = 0; i < n; i++) to[i] = TAG;
#define WRITE_BACK for (size_t i = n; i-- > 0;) ((volatile byte *)to)[i] = TAG;
#define WRITE_WORDS EACH(Word, ((Word *)(to + i))->value = TAG * (~0ul / 255)) WRITE_REST
#define WRITE_INTS EACH(Int, ((Int *)(to + i))->value = TAG * (~0u / 255)) WRITE_REST
#define WRITE_PAIRS EACH(Pair, ((Pair *)(to + i))->value = TAG * 257) WRITE_REST
#define WRITE_VECTOR Vector v = { 0 }; v += TAG; EACH(Vector, *(Vector *)(to + i) = v) WRITE_REST
#define WRITE_STRIDE for (size_t s = 0; s < 3; s++) for (size_t i = s; i < n; i += 3) ((volatile byte *)to)[i] = TAG;
/* Twice, the first from an odd address on: the later stores are those that count. */
#define WRITE_TWICE for (size_t i = n & 1; i < n; i++) ((volatile byte *)to)[i] = 255 - TAG; WRITE_WORDS
#define WRITE_HALVES if (n < 8) { WRITE_BYTES } else { SELF(to, n / 2); SELF(to + n / 2, n - n / 2); }
#if X86
#define WRITE_STOS size_t m = n; byte *o = to; __asm__ volatile("rep stosb" : "+D"(o), "+c"(m) : "a"(TAG) : "memory");
#define WRITE_XCHG for (size_t i = 0; i < n; i++) __atomic_exchange_n(to + i, TAG, __ATOMIC_SEQ_CST);
#define WRITE_CAS for (size_t i = 0; i < n; i++) { byte old = ((volatile byte *)to)[i]; \
    __atomic_compare_exchange_n(to + i, &old, TAG, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); }
#define WRITE_MODIFY for (size_t i = 0; i < n; i++) __asm__ volatile("andb $0, %0\n\torb %1, %0" : "+m"(to[i]) : "i"(TAG));
#define WRITE_PAST unsigned long w = TAG * (~0ul / 255); \
    EACH(Word, __asm__ volatile("movnti %1, %0" : "=m"(*(Word *)(to + i)) : "r"(w))) WRITE_REST
#define WRITE_STRUCT Struct s; for (size_t i = 0; i < sizeof s; i++) ((volatile byte *)s.byte)[i] = TAG; \
    EACH(Struct, *(Struct *)(to + i) = s) WRITE_REST
#else
#define WRITE_STOS WRITE_LOOP
#define WRITE_XCHG WRITE_BYTES
#define WRITE_CAS WRITE_PAIRS
#define WRITE_MODIFY WRITE_BACK
#define WRITE_PAST WRITE_WORDS
#define WRITE_STRUCT WRITE_VECTOR
#endif

/* ---- bodies of readers: from, n, row, SELF ---- */

#define COUNT_BYTES(bytes, count) for (size_t b = 0; b < (count); b++) row[(bytes)[b]]++;
#define COUNT_BITS(value) for (size_t b = 0; b < sizeof(value); b++) row[(value) >> 8 * b & 255]++;
#define READ_REST for (; i < n; i++) row[((const volatile byte *)from)[i]]++;

#define READ_BYTES for (size_t i = 0; i < n; i++) row[from[i]]++;
#define READ_BACK for (size_t i = n; i-- > 0;) row[((const volatile byte *)from)[i]]++;
#define READ_WORDS EACH(Word, unsigned long w = ((const volatile Word *)(from + i))->value; COUNT_BITS(w)) READ_REST
#define READ_INTS EACH(Int, unsigned w = ((const volatile Int *)(from + i))->value; COUNT_BITS(w)) READ_REST
#define READ_PAIRS EACH(Pair, unsigned short w = ((const volatile Pair *)(from + i))->value; COUNT_BITS(w)) READ_REST
#define READ_VECTOR EACH(Vector, Vector v = *(const volatile Vector *)(from + i); \
    byte local[16]; *(volatile Vector *)local = v; COUNT_BYTES((volatile byte *)local, 16)) READ_REST
#define READ_STRIDE for (size_t s = 0; s < 3; s++) for (size_t i = s; i < n; i += 3) row[((const volatile byte *)from)[i]]++;
/* Of what it has put beside. */
#define READ_LOCAL for (size_t i = 0; i < n; i += LOCAL) { byte local[LOCAL]; size_t m = n - i < LOCAL ? n - i : LOCAL; \
    for (size_t b = 0; b < m; b++) local[b] = from[i + b]; \
    __asm__ volatile("" : "+m"(local)); COUNT_BYTES(local, m) }
/* What was read before is read again. */
#define READ_TWICE for (size_t i = 0; i < n; i++) row[((const volatile byte *)from)[i]]++; READ_WORDS
#define READ_HALVES if (n < 8) { READ_BYTES } else { SELF(from, n / 2, row); SELF(from + n / 2, n - n / 2, row); }
#if X86
#define READ_MOVS for (size_t i = 0; i < n; i += LOCAL) { byte local[LOCAL]; size_t m = n - i < LOCAL ? n - i : LOCAL, c = m; \
    const byte *s = from + i; byte *o = local; \
    __asm__ volatile("rep movsb" : "+S"(s), "+D"(o), "+c"(c) : : "memory"); COUNT_BYTES(local, m) }
#define READ_LODS const byte *s = from; for (size_t i = 0; i < n; i++) { byte b; \
    __asm__ volatile("lodsb" : "=a"(b), "+S"(s) : : "memory"); row[b]++; }
#define READ_STRUCT EACH(Struct, Struct s = *(const Struct *)(from + i); __asm__ volatile("" : "+m"(s)); COUNT_BYTES(s.byte, sizeof s)) \
    READ_REST
#else
#define READ_MOVS READ_LOCAL
#define READ_LODS READ_BACK
#define READ_STRUCT READ_VECTOR
#endif

/* ---- bodies of copiers: from, to, n, row, TAG ---- */

#define COPY_BYTES for (size_t i = 0; i < n; i++) { row[((const volatile byte *)from)[i]]++; ((volatile byte *)to)[i] = TAG; }
#define COPY_BACK for (size_t i = n; i-- > 0;) { row[((const volatile byte *)from)[i]]++; ((volatile byte *)to)[i] = TAG; }
#define COPY_WORDS EACH(Word, unsigned long w = ((const volatile Word *)(from + i))->value; COUNT_BITS(w) \
    ((Word *)(to + i))->value = TAG * (~0ul / 255)) \
    for (; i < n; i++) { row[((const volatile byte *)from)[i]]++; ((volatile byte *)to)[i] = TAG; }
#define COPY_VECTOR Vector t = { 0 }; t += TAG; EACH(Vector, Vector v = *(const volatile Vector *)(from + i); \
    byte local[16]; *(volatile Vector *)local = v; COUNT_BYTES((volatile byte *)local, 16) *(Vector *)(to + i) = t) \
    for (; i < n; i++) { row[((const volatile byte *)from)[i]]++; ((volatile byte *)to)[i] = TAG; }

/* ---- the functions ---- */

#define WRITER(name, tag, body) static APART void name(byte *to, size_t n) { enum { TAG = tag }; \
    void (*const volatile SELF)(byte *, size_t) = name; (void)SELF; body }
#define READER(name, body) static APART void name(const byte *from, size_t n, unsigned *row) { \
    void (*const volatile SELF)(const byte *, size_t, unsigned *) = name; (void)SELF; body }
#define COPIER(name, tag, body) static APART void name(const byte *from, byte *to, size_t n, unsigned *row) { enum { TAG = tag }; body }

#define W(n, body) WRITER(w_##n, OF_WRITER + 1##n - 100, WRITE_##body)
#define R(n, body) READER(r_##n, READ_##body)
#define C(n, body) COPIER(c_##n, OF_COPIER + 1##n - 100, COPY_##body)

W(00, BYTES) W(01, WORDS) W(02, VECTOR) W(03, STOS) W(04, BACK) W(05, INTS) W(06, PAIRS) W(07, LOOP)
W(08, STRIDE) W(09, TWICE) W(10, HALVES) W(11, XCHG) W(12, CAS) W(13, MODIFY) W(14, PAST) W(15, STRUCT)
W(16, BYTES) W(17, WORDS) W(18, VECTOR) W(19, STOS) W(20, BACK) W(21, INTS) W(22, PAIRS) W(23, LOOP)
W(24, STRIDE) W(25, TWICE) W(26, HALVES) W(27, XCHG) W(28, CAS) W(29, MODIFY) W(30, PAST) W(31, STRUCT)

R(00, BYTES) R(01, WORDS) R(02, VECTOR) R(03, MOVS) R(04, BACK) R(05, INTS) R(06, PAIRS) R(07, LOCAL)
R(08, STRIDE) R(09, TWICE) R(10, HALVES) R(11, LODS) R(12, STRUCT) R(13, BYTES) R(14, WORDS) R(15, VECTOR)
R(16, MOVS) R(17, BACK) R(18, INTS) R(19, PAIRS) R(20, LOCAL) R(21, STRIDE) R(22, TWICE) R(23, HALVES)
R(24, LODS) R(25, STRUCT) R(26, BYTES) R(27, WORDS) R(28, VECTOR) R(29, LOCAL) R(30, INTS) R(31, MOVS)

C(00, BYTES) C(01, WORDS) C(02, VECTOR) C(03, BACK) C(04, BYTES) C(05, WORDS) C(06, VECTOR) C(07, BACK)
C(08, BYTES) C(09, WORDS) C(10, VECTOR) C(11, BACK) C(12, BYTES) C(13, WORDS) C(14, VECTOR) C(15, BACK)

/* Those of signal handlers, and of children. */
WRITER(handler_w_0, OF_HANDLER, WRITE_BYTES)
WRITER(handler_w_1, OF_HANDLER + 1, WRITE_WORDS)
READER(handler_r_0, READ_BYTES)
READER(handler_r_1, READ_WORDS)
WRITER(child_w, OF_CHILD, WRITE_WORDS)

/* What goes into pipes and sockets: the tag is the channel's. */
#define PACKER(n, rest) static APART void pack_##n(byte *to, size_t n_, unsigned tag) { \
    for (size_t i = 0; i < n_; i++) { size_t k = rest; ((volatile byte *)to)[k] = (byte)tag; } }
PACKER(0, i) PACKER(1, n_ - 1 - i) PACKER(2, i) PACKER(3, n_ - 1 - i) PACKER(4, i) PACKER(5, n_ - 1 - i) PACKER(6, i) PACKER(7, i)

#define TEN(x, d) x##d##0, x##d##1, x##d##2, x##d##3, x##d##4, x##d##5, x##d##6, x##d##7, x##d##8, x##d##9

static void (*const writers[WRITERS])(byte *, size_t) = { TEN(w_, 0), TEN(w_, 1), TEN(w_, 2), w_30, w_31 };
static void (*const readers[READERS])(const byte *, size_t, unsigned *) = { TEN(r_, 0), TEN(r_, 1), TEN(r_, 2), r_30, r_31 };
static void (*const copiers[COPIERS])(const byte *, byte *, size_t, unsigned *) = { TEN(c_, 0), c_10, c_11, c_12, c_13, c_14, c_15 };
static void (*const packers[PACKERS])(byte *, size_t, unsigned) = { pack_0, pack_1, pack_2, pack_3, pack_4, pack_5, pack_6, pack_7 };
