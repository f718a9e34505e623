/* What a proxy asks of a group: proxy TECHNIQUE [KEY=VALUE]
 *
 * Three backends of the weights 4, 3 and 2. The second drains, fails, comes back by slow start; then connections come
 * under a bound, a replica takes the state over from a snapshot and follows by a delta, and the table is read.
 * cc proxy.c $(pkg-config --cflags --libs anabranch) */
#include <anabranch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONNECTIONS = 20000, BACKENDS = 3, SECOND = 1 };
static const uint64_t SECOND_NS = 1000000000;

static void must(anabranch_status status) {
    if (status != ANABRANCH_STATUS_OK) {
        fprintf(stderr, "proxy: %s\n", anabranch_last_error());
        exit(2);
    }
}

/* Keys that differ in all bits; a program hashes the headers of packets instead. */
static uint64_t key_of(uint64_t connection) {
    uint64_t key = (connection + 1) * 0x9E3779B97F4A7C15u;
    key = (key ^ (key >> 30)) * 0xBF58476D1CE4E5B9u;
    key = (key ^ (key >> 27)) * 0x94D049BB133111EBu;
    return key ^ (key >> 31);
}

/* Counts the backends of connections from `first` on, and those that are not where `before` has them. */
static void report(const char *title, anabranch_connections *connections, size_t first, bool begin, uint64_t second,
                   uint16_t *before) {
    size_t counts[BACKENDS] = {0}, moved = 0;
    for (size_t i = 0; i < CONNECTIONS; i++) {
        uint16_t backend = anabranch_connections_pick(connections, key_of(first + i), begin, second * SECOND_NS);
        counts[backend]++;
        moved += backend != before[i];
        before[i] = backend;
    }
    printf("%s: %zu %zu %zu, %zu moved\n", title, counts[0], counts[1], counts[2], moved);
}

/* Bytes of unknown length: room grows until they fit, whatever others do to the group meanwhile. `base` is NULL for a
 * snapshot. */
static uint8_t *bytes_of(const anabranch_group *group, const anabranch_group *base, size_t *len) {
    uint8_t *bytes = NULL;
    for (size_t room = 0;; room = *len) {
        anabranch_status status = base ? anabranch_group_delta(group, base, bytes, room, len)
                                       : anabranch_group_snapshot(group, bytes, room, len);
        if (status != ANABRANCH_STATUS_ROOM) {
            must(status);
            return bytes;
        }
        bytes = realloc(bytes, *len);
        if (!bytes) exit(1);
    }
}

static void replicate(const anabranch_group *group) {
    const uint8_t first_down[] = {0, 1, 1};
    size_t snapshot_len, delta_len;
    uint8_t *snapshot = bytes_of(group, NULL, &snapshot_len);
    anabranch_group *replica;
    must(anabranch_group_restore(snapshot, snapshot_len, &replica));
    must(anabranch_group_update(group, NULL, first_down, BACKENDS));
    uint8_t *delta = bytes_of(group, replica, &delta_len);
    must(anabranch_group_adopt(replica, delta, delta_len));
    anabranch_revision ours, theirs;
    must(anabranch_group_revision(group, &ours));
    must(anabranch_group_revision(replica, &theirs));
    bool agree = ours.digest_high == theirs.digest_high && ours.digest_low == theirs.digest_low;
    printf("replica: snapshot %zu, delta %zu, %s %" PRIu64 "-%016" PRIx64 "%016" PRIx64 "\n", snapshot_len, delta_len,
           agree ? "agrees" : "differs", theirs.updates, theirs.digest_high, theirs.digest_low);
    free(snapshot);
    free(delta);
    anabranch_group_free(replica);
}

static void read_table(const anabranch_group *group) {
    size_t len, right = 0;
    anabranch_status status = anabranch_group_table(group, NULL, 0, &len);
    uint16_t *members = malloc((len + 1) * sizeof *members);
    if (!members) exit(1);
    if (status == ANABRANCH_STATUS_ROOM) must(anabranch_group_table(group, members, len, &len));
    for (size_t i = 0; len && i < CONNECTIONS; i++)
        right += members[(uint32_t)key_of(i) % len] == anabranch_group_pick(group, key_of(i));
    printf("table: %zu slots, %zu picks\n", len, right);
    free(members);
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "proxy: no technique; give one, and its parameters: proxy min-move slots=4096\n");
        return 2;
    }
    const uint64_t weights[BACKENDS] = {4, 3, 2};
    const uint8_t second_down[] = {1, 0, 1};
    static uint16_t old[CONNECTIONS], new[CONNECTIONS];
    uint64_t loads[BACKENDS] = {0};
    anabranch_group *group;
    anabranch_connections *connections;
    must(anabranch_group_new(argv[1], weights, BACKENDS, (const char *const *)argv + 2, (size_t)argc - 2, &group));
    must(anabranch_connections_new(group, &connections));
    report("begun", connections, 0, true, 1, old);
    must(anabranch_group_drain(group, SECOND, 1 * SECOND_NS, 31 * SECOND_NS));
    report("new while the second drains", connections, CONNECTIONS, true, 2, new);
    report("old before the deadline", connections, 0, false, 30, old);
    report("new before the deadline", connections, CONNECTIONS, false, 30, new);
    printf("remembered: %zu bytes\n", anabranch_connections_state_bytes(connections));
    report("old at the deadline", connections, 0, false, 31, old);
    printf("remembered: %zu bytes\n", anabranch_connections_state_bytes(connections));
    must(anabranch_group_undrain(group, SECOND));
    report("undrained", connections, 0, false, 32, old);

    must(anabranch_group_update(group, NULL, second_down, BACKENDS));
    report("second down", connections, 0, false, 33, old);
    anabranch_slow_start rule = {.window_ns = 60 * SECOND_NS, .aggression = 1, .min_percent = 10};
    for (uint64_t age = 0; age <= 60; age += 20) {
        const uint64_t ages_ns[BACKENDS] = {ANABRANCH_NO_AGE, age * SECOND_NS, ANABRANCH_NO_AGE};
        must(anabranch_group_slow_start(group, rule, ages_ns, NULL, NULL, BACKENDS));
        report("second starting", connections, 0, false, 34 + age, old);
    }
    for (size_t i = 0; i < CONNECTIONS; i++) {
        uint16_t backend;
        must(anabranch_group_pick_bounded(group, key_of(i), loads, BACKENDS, 0.001, &backend));
        loads[backend]++;
    }
    printf("bounded: %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", loads[0], loads[1], loads[2]);
    replicate(group);
    read_table(group);
    anabranch_connections_free(connections);
    anabranch_group_free(group);
    return 0;
}
