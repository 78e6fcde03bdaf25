/* mutate.c - small changes that mostly leave an input what it is: what a parser refuses never reaches
 * the code behind it.
 *
 * A digit becomes another digit, a letter another letter, a byte above 127 any other one; signs, zeros
 * and most small numbers, which are the structure of a file, stay. Under libFuzzer every other input is
 * one that was accepted, changed in this way ("near"); at its end it prints how many of both kinds were
 * accepted.
 */
#include "fuzz.h"

#include <string.h>

int fuzz_is_accepted;

static uint32_t draw(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void change(uint8_t *byte, uint32_t *state)
{
    const uint8_t old = *byte;
    if (old >= '0' && old <= '9')
        *byte = (uint8_t)('0' + draw(state) % 10);
    else if (old >= 'a' && old <= 'z')
        *byte = (uint8_t)('a' + draw(state) % 26);
    else if (old >= 'A' && old <= 'Z')
        *byte = (uint8_t)('A' + draw(state) % 26);
    else if (old > '~' || (old > 0 && old < ' ' && draw(state) % 8 == 0))
        *byte = (uint8_t)draw(state);
}

void fuzz_change(uint8_t *data, size_t size, uint32_t seed)
{
    uint32_t state = seed * 2654435761u + 1;
    const uint32_t n = 1 + (draw(&state) % 4 == 0);
    for (uint32_t i = 0; size > 0 && i < n; i++) change(&data[draw(&state) % size], &state);
}

#if defined(S2_FUZZING)
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

enum { N_KEPT = 256, MAX_KEPT = 1 << 16 };

static struct {
    uint8_t *bytes;
    size_t n;
} kept[N_KEPT]; /* inputs that were accepted */
static struct {
    uint64_t n, n_accepted;
} count[2];                    /* inputs of libFuzzer, and those made here */
static uint8_t last[MAX_KEPT]; /* the input before, and how it was made */
static size_t n_last;
static int last_is_near, has_begun, n_kept;

static void print_share(void)
{
    static const char *const names[] = { "any", "near" };
    for (int k = 0; k < 2; k++)
        fprintf(stderr, "stat::accepted_%s: %llu of %llu (%.0f %%)\n", names[k],
                (unsigned long long)count[k].n_accepted, (unsigned long long)count[k].n,
                count[k].n ? 100.0 * (double)count[k].n_accepted / (double)count[k].n : 0.0);
}

/* The input before was run meanwhile. */
static void look_back(unsigned seed)
{
    if (!has_begun) {
        has_begun = 1;
        (void)atexit(print_share);
        return;
    }
    count[last_is_near].n++;
    count[last_is_near].n_accepted += fuzz_is_accepted != 0;
    if (fuzz_is_accepted && n_last > 0) {
        const int k = n_kept < N_KEPT ? n_kept++ : (int)(seed % N_KEPT);
        uint8_t *copy = realloc(kept[k].bytes, n_last);
        if (!copy) abort();
        memcpy(copy, last, n_last);
        kept[k].bytes = copy;
        kept[k].n = n_last;
    }
    fuzz_is_accepted = 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    look_back(seed);
    const int k = n_kept > 0 ? (int)(seed / 2 % (unsigned)n_kept) : 0;
    last_is_near = seed % 2 && n_kept > 0 && kept[k].n <= max_size;
    if (last_is_near) {
        memcpy(data, kept[k].bytes, kept[k].n);
        size = kept[k].n;
        fuzz_change(data, size, seed / 2);
    } else {
        size = LLVMFuzzerMutate(data, size, max_size);
    }
    n_last = size <= MAX_KEPT ? size : 0;
    memcpy(last, data, n_last);
    return size;
}
#endif
