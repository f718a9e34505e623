/* A closed loop over a simulated network: closed_loop SCENARIO.toml [KEY=VALUE]...
 *
 * Host 0 keeps four requests under way to the other hosts in turn; each answers 20,000 bytes after it has computed for
 * 5 us. In the midst of it a link fails. Prints number, time and completeness of every message at its end.
 * cc closed_loop.c $(pkg-config --cflags --libs anabranch) */
#include <anabranch.h>
#include <stdio.h>
#include <stdlib.h>

enum { REQUESTS = 200, UNDER_WAY = 4, ROOM = 3, HOSTS_MAX = 4096 };
static const uint64_t REQUEST_BYTES = 1000, ANSWER_BYTES = 20000, COMPUTE_PS = 5000000, LATE_PS = 1000000000000;

static void must(anabranch_status status) {
    if (status != ANABRANCH_STATUS_OK) {
        fprintf(stderr, "closed_loop: %s\n", anabranch_last_error());
        exit(2);
    }
}

static uint32_t asked, worker_of[4 * REQUESTS + 1];

/* Sends the next request, of which there are so many. Numbers follow each other: answers too have one. */
static void ask(const anabranch_network *network, uint32_t hosts) {
    if (asked == REQUESTS) return;
    uint32_t number, worker = 1 + asked++ % (hosts - 1);
    anabranch_message request = {.src = 0, .dst = worker, .bytes = REQUEST_BYTES, .at_ps = ANABRANCH_NO_TIME};
    must(anabranch_network_send(network, request, &number));
    worker_of[number] = worker;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "closed_loop: no scenario; give a file, and keys to set: closed_loop leaf-spine.toml seed=2\n");
        return 2;
    }
    anabranch_network *network;
    must(anabranch_network_open(argv[1], (const char *const *)argv + 2, (size_t)argc - 2, false, &network));
    uint32_t hosts = anabranch_network_hosts(network), answered = 0;
    if (hosts < 2 || hosts > HOSTS_MAX) return 2;
    must(anabranch_network_change(network, "[[change]]\nat = \"200 us\"\nlink = \"leaf0-spine0\"\nset = \"down\"\n"));
    for (int i = 0; i < UNDER_WAY; i++) ask(network, hosts);
    while (answered < REQUESTS && anabranch_network_now(network) < LATE_PS) {
        must(anabranch_network_run_until_any_done(network, ANABRANCH_NO_TIME));
        anabranch_end ends[ROOM];
        size_t taken;
        must(anabranch_network_take_done(network, ends, ROOM, &taken));
        for (size_t i = 0; i < taken; i++) {
            printf("%u %llu %d\n", ends[i].message, (unsigned long long)ends[i].at_ps, ends[i].whole);
            uint32_t worker = worker_of[ends[i].message];
            if (worker == 0) { /* an answer */
                answered++;
                ask(network, hosts);
                continue;
            }
            anabranch_message answer = {
                .src = worker, .dst = 0, .bytes = ANSWER_BYTES, .at_ps = ends[i].at_ps + COMPUTE_PS};
            must(anabranch_network_send(network, answer, NULL));
        }
    }
    anabranch_network_free(network);
    return answered == REQUESTS ? 0 : 1;
}
