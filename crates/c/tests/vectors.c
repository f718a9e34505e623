/* The vectors of the splitter, read in C: vectors FILE...
 *
 * Does what each line of a history says, compares each line of a state, and prints how many it compared of each file.
 * vectors/split/README.md has the lines. */
#include <anabranch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 1 << 20, MEMBERS = 1024, KEYS = 256, WORDS = 4096 };

static const char *file;
static size_t line_number, compared, members_len, words_len, keys_len;
static char line[LINE_BYTES], rest[LINE_BYTES], ours[LINE_BYTES], *words[WORDS];
static uint64_t keys[KEYS], weights[MEMBERS], ages_ns[MEMBERS];
static uint8_t up[MEMBERS];
static anabranch_group *group, *replica;

static void fail(const char *problem) {
    fprintf(stderr, "vectors: %s:%zu: %s\n", file, line_number, problem);
    exit(1);
}

static void must(anabranch_status status) {
    if (status != ANABRANCH_STATUS_OK) fail(anabranch_last_error());
}

static uint64_t number(const char *word, int base) {
    char *end;
    uint64_t value = strtoull(word, &end, base);
    if (end == word || *end) fail("a word is no number");
    return value;
}

static size_t word_at(const char *word) {
    for (size_t at = 0; at < words_len; at++)
        if (strcmp(words[at], word) == 0) return at;
    fail("a word is missing");
    return 0;
}

/* Weights from `first` on, `up`, and the flags. */
static void read_members(size_t first) {
    size_t at = word_at("up");
    members_len = at - first;
    for (size_t member = 0; member < members_len; member++) {
        weights[member] = number(words[first + member], 10);
        up[member] = (uint8_t)number(words[at + 1 + member], 10);
    }
}

static void start(void) {
    size_t ages = word_at("ages") + 1, of = word_at("of");
    for (size_t member = 0; ages + member < of; member++) ages_ns[member] = number(words[ages + member], 10);
    read_members(of + 1);
    anabranch_slow_start rule = {number(words[0], 10), strtod(words[1], NULL), strtod(words[2], NULL)};
    must(anabranch_group_slow_start(group, rule, ages_ns, weights, up, members_len));
}

static void make(const char *technique, char *parameters) {
    const char *settings[16];
    size_t settings_len = 0;
    for (char *pair = strtok(parameters, " "); pair; pair = strtok(NULL, " ")) settings[settings_len++] = pair;
    for (size_t member = 0; member < words_len; member++) weights[member] = number(words[member], 10);
    must(anabranch_group_new(technique, weights, words_len, settings, settings_len, &group));
}

/* Adds a member to our line. */
static void add(size_t *at, uint16_t member) {
    *at += (size_t)snprintf(ours + *at, LINE_BYTES - *at, *at ? " %u" : "%u", member);
}

/* Bytes of the line in hexadecimal. */
static uint8_t *bytes_of_line(size_t *len) {
    *len = strlen(rest) / 2;
    uint8_t *bytes = malloc(*len + 1);
    if (!bytes) fail("no memory");
    for (size_t i = 0; i < *len; i++) {
        const char digits[] = {rest[2 * i], rest[2 * i + 1], 0};
        bytes[i] = (uint8_t)number(digits, 16);
    }
    return bytes;
}

/* Our snapshot, or our delta from the replica, in hexadecimal; as long as the line, or it is another. */
static void write_bytes(bool delta) {
    size_t room = strlen(rest) / 2, len;
    uint8_t *bytes = malloc(room + 1);
    if (!bytes) fail("no memory");
    must(delta ? anabranch_group_delta(group, replica, bytes, room, &len)
               : anabranch_group_snapshot(group, bytes, room, &len));
    for (size_t i = 0; i < len; i++) sprintf(ours + 2 * i, "%02x", bytes[i]);
    if (delta) must(anabranch_group_adopt(replica, bytes, len));
    free(bytes);
}

/* Our table, or its length and the FNV-1a digest of its entries. */
static void write_table(bool entries) {
    static uint16_t table[1 << 17];
    size_t len, at = 0;
    uint64_t digest = 0xcbf29ce484222325u;
    must(anabranch_group_table(group, table, sizeof table / sizeof *table, &len));
    for (size_t i = 0; i < len; i++) {
        digest = (digest ^ (table[i] & 0xff)) * 0x100000001b3u;
        digest = (digest ^ table[i] >> 8) * 0x100000001b3u;
        if (entries) add(&at, table[i]);
    }
    if (!entries) sprintf(ours, "%zu %016" PRIx64, len, digest);
}

static void write_bounded(void) {
    uint64_t loads[MEMBERS] = {0};
    size_t at = (size_t)sprintf(ours, "%s", words[0]);
    for (size_t i = 0; i < keys_len; i++) {
        uint16_t member;
        size_t len = anabranch_group_members(group);
        must(anabranch_group_pick_bounded(group, keys[i], loads, len, strtod(words[0], NULL), &member));
        loads[member]++;
        add(&at, member);
    }
}

static void write_revision(void) {
    anabranch_revision revision;
    must(anabranch_group_revision(group, &revision));
    sprintf(ours, "%" PRIu64 " %016" PRIx64 "%016" PRIx64, revision.updates, revision.digest_high, revision.digest_low);
}

static void take_over(void) {
    size_t len;
    uint8_t *bytes = bytes_of_line(&len);
    anabranch_group_free(group);
    anabranch_group_free(replica);
    must(anabranch_group_restore(bytes, len, &group));
    must(anabranch_group_restore(bytes, len, &replica));
    free(bytes);
}

/* Writes our line of a state. */
static void write_ours(const char *verb) {
    size_t at = 0;
    ours[0] = 0;
    if (strcmp(verb, "revision") == 0) write_revision();
    else if (strcmp(verb, "delta") == 0) write_bytes(true);
    else if (strcmp(verb, "snapshot") == 0) write_bytes(false);
    else if (strcmp(verb, "table") == 0) write_table(false);
    else if (strcmp(verb, "entries") == 0) write_table(true);
    else if (strcmp(verb, "bounded") == 0) write_bounded();
    else if (strcmp(verb, "picks") == 0)
        for (size_t i = 0; i < keys_len; i++) add(&at, anabranch_group_pick(group, keys[i]));
    else fail("no word of a history");
}

/* Does what a line says; false if it is one to compare. */
static bool follow(const char *verb) {
    static char technique[64], parameters[256];
    if (strcmp(verb, "technique") == 0) snprintf(technique, sizeof technique, "%s", rest);
    else if (strcmp(verb, "parameters") == 0) snprintf(parameters, sizeof parameters, "%s", rest);
    else if (strcmp(verb, "keys") == 0)
        for (keys_len = 0; keys_len < words_len; keys_len++) keys[keys_len] = number(words[keys_len], 16);
    else if (strcmp(verb, "group") == 0) make(technique, parameters);
    else if (strcmp(verb, "start") == 0) start();
    else if (strcmp(verb, "drain") == 0) must(anabranch_group_drain(group, (uint16_t)number(rest, 10), 0, 1));
    else if (strcmp(verb, "undrain") == 0) must(anabranch_group_undrain(group, (uint16_t)number(rest, 10)));
    else if (strcmp(verb, "update") == 0) {
        read_members(0);
        must(anabranch_group_update(group, weights, up, members_len));
    } else return false;
    return true;
}

/* Snapshots by hand are accepted or refused, and a refusal leaves no handle. */
static bool judge(const char *verb) {
    bool accept = strcmp(verb, "accepted") == 0;
    if (strcmp(verb, "#") == 0) return true;
    if (!accept && strcmp(verb, "refused") != 0) return false;
    size_t len;
    uint8_t *bytes = bytes_of_line(&len);
    anabranch_group *restored;
    anabranch_status status = anabranch_group_restore(bytes, len, &restored);
    if (accept != (status == ANABRANCH_STATUS_OK) || accept != (restored != NULL)) fail("another verdict");
    if (!accept && status != ANABRANCH_STATUS_ERROR) fail(anabranch_last_error());
    anabranch_group_free(restored);
    free(bytes);
    compared++;
    return true;
}

static void read_line(void) {
    static char copy[LINE_BYTES];
    char *end = line + strcspn(line, "\n"), *space;
    *end = 0;
    space = strchr(line, ' ');
    strcpy(rest, space ? space + 1 : "");
    if (space) *space = 0;
    words_len = 0;
    strcpy(copy, rest);
    for (char *word = strtok(copy, " "); word && words_len < WORDS; word = strtok(NULL, " ")) words[words_len++] = word;
    if (judge(line) || follow(line)) return;
    write_ours(line);
    if (strcmp(ours, rest) != 0) fail("the library has another line");
    compared++;
    if (strcmp(line, "snapshot") == 0) take_over();
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        file = argv[i];
        FILE *stream = fopen(file, "r");
        if (!stream) fail("cannot be read");
        compared = 0;
        for (line_number = 1; fgets(line, sizeof line, stream); line_number++) read_line();
        fclose(stream);
        anabranch_group_free(group);
        anabranch_group_free(replica);
        group = replica = NULL;
        printf("%s %zu\n", file, compared);
    }
    return 0;
}
