/* Picks of many packets by weights, while the weights change: split TECHNIQUE [KEY=VALUE]
 *
 * Four members of the weights 4, 3, 2 and 1; the second fails, comes back, and a fifth is added. After each change it
 * prints the packets of each member and how many changed their member; at the end what two threads count by readers.
 * cc split.c $(pkg-config --cflags --libs anabranch) -lpthread */
#include <anabranch.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PACKETS = 100000, MEMBERS = 5, THREADS = 2 };

static uint64_t keys[PACKETS];

static void must(anabranch_status status) {
    if (status != ANABRANCH_STATUS_OK) {
        fprintf(stderr, "split: %s\n", anabranch_last_error());
        exit(2);
    }
}

/* Keys that differ in all bits; a program hashes the headers of packets instead. */
static void make_keys(void) {
    for (uint64_t i = 0; i < PACKETS; i++) {
        uint64_t key = (i + 1) * 0x9E3779B97F4A7C15u;
        key = (key ^ (key >> 30)) * 0xBF58476D1CE4E5B9u;
        key = (key ^ (key >> 27)) * 0x94D049BB133111EBu;
        keys[i] = key ^ (key >> 31);
    }
}

static void report(const char *title, const anabranch_group *group, uint16_t *members) {
    static uint16_t before[PACKETS];
    memcpy(before, members, sizeof before);
    must(anabranch_group_pick_batch(group, keys, NULL, NULL, PACKETS, members));
    size_t counts[MEMBERS] = {0}, moved = 0;
    for (size_t i = 0; i < PACKETS; i++) {
        counts[members[i]]++;
        moved += members[i] != before[i];
    }
    printf("%s:", title);
    for (size_t member = 0; member < anabranch_group_members(group); member++) printf(" %zu", counts[member]);
    printf(", %zu moved\n", moved);
}

struct count {
    anabranch_group *group;
    size_t first, sum;
};

/* A thread has a reader of its own, and picks packets one by one. */
static void *pick_half(void *argument) {
    struct count *count = argument;
    anabranch_reader *reader;
    must(anabranch_reader_new(count->group, &reader));
    for (size_t i = count->first; i < PACKETS; i += THREADS) count->sum += anabranch_reader_pick(reader, keys[i]);
    anabranch_reader_free(reader);
    return NULL;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "split: no technique; give one, and its parameters: split min-move slots=4096\n");
        return 2;
    }
    const uint64_t weights[MEMBERS] = {4, 3, 2, 1, 5};
    const uint8_t second_down[] = {1, 0, 1, 1};
    static uint16_t members[PACKETS];
    anabranch_group *group;
    must(anabranch_group_new(argv[1], weights, 4, (const char *const *)argv + 2, (size_t)argc - 2, &group));
    make_keys();
    must(anabranch_group_pick_batch(group, keys, NULL, NULL, PACKETS, members));
    report("planned", group, members);
    must(anabranch_group_update(group, NULL, second_down, 4));
    report("second down", group, members);
    must(anabranch_group_update(group, NULL, NULL, 4));
    report("second up", group, members);
    must(anabranch_group_update(group, weights, NULL, MEMBERS));
    report("fifth added", group, members);

    double shares[MEMBERS];
    anabranch_status status = anabranch_group_shares(group, shares, MEMBERS);
    if (status == ANABRANCH_STATUS_UNDECIDED) {
        printf("shares: by the traffic\n");
    } else {
        must(status);
        printf("shares: %.6f %.6f %.6f %.6f %.6f\n", shares[0], shares[1], shares[2], shares[3], shares[4]);
    }

    struct count counts[THREADS];
    pthread_t threads[THREADS];
    for (size_t t = 0; t < THREADS; t++) {
        counts[t] = (struct count){.group = group, .first = t};
        if (pthread_create(&threads[t], NULL, pick_half, &counts[t])) return 1;
    }
    for (size_t t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    printf("threads: %zu\n", counts[0].sum + counts[1].sum);
    anabranch_group_free(group);
    return 0;
}
