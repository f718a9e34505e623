/* anabranch: weighted groups to pick from, and a network that your program drives. Written by `make reference`.
 *
 * Calls. A call returns a status; if that is not ANABRANCH_STATUS_OK, anabranch_last_error() says what is wrong and what
 * would work. A call that is refused has done nothing. NULL where something is due, a pointer that is not aligned, a
 * length that does not fit and a text that is not UTF-8 are refused. A result whose length you cannot know is written
 * with its length; if it needs more room than you give, the call returns ANABRANCH_STATUS_ROOM and writes the length
 * alone: give so much and call again, in a loop if others change the group meanwhile. No Rust panic leaves the library:
 * it becomes ANABRANCH_STATUS_DEFECT.
 *
 * Pointers. What the library cannot see is up to you: an array has as many values as you say, a text ends with a zero
 * byte, a handle came from the library and has not been freed, and arrays that are written overlap no other argument.
 * Nothing that you pass is kept after the call. A handle that cannot be made is written as NULL. Free every handle once.
 *
 * Threads. A group: any call from any number of threads at the same time. Techniques of granularity "flow" and "packet"
 * remember flows, and one thread at a time has the use of that: give each thread a copy. A reader, and connections: one
 * thread at a time, which need not be the one that made them. A network: one thread at a time; a second one is refused.
 * Nobody may use a handle while or after it is freed. The last error belongs to the thread. After fork() a child must
 * not use a network that its parent opened.
 *
 * Times of a network are simulated, in picoseconds. The same calls give the same results, to the bit.
 *
 * docs/c.md has examples. */


#ifndef ANABRANCH_H
#define ANABRANCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// No member: what a pick returns that cannot be done.
#define ANABRANCH_NO_MEMBER UINT16_MAX

// No age: a member that is not starting, as one older than any window is not.
#define ANABRANCH_NO_AGE UINT64_MAX

// No time: "now" for a message, "whenever" for a limit, "never" for an event.
#define ANABRANCH_NO_TIME UINT64_MAX

// Outcome of a call.
typedef enum {
  // Everything was done.
  ANABRANCH_STATUS_OK = 0,
  // Nothing was done: an argument, a file or a value is refused. A network whose simulation fails is closed.
  ANABRANCH_STATUS_ERROR = 1,
  // Nothing was done: the plan does not decide what was asked for, the traffic does.
  ANABRANCH_STATUS_UNDECIDED = 2,
  // A defect of the library. Free the handle, and report the message.
  ANABRANCH_STATUS_DEFECT = 3,
  // Nothing was done but to write a length: give room for so many values, and call again.
  ANABRANCH_STATUS_ROOM = 4,
} anabranch_status;

// Connections of one thread while members of a group drain, and which of them are new. All packets of a
// connection go by the same value, as a network card's queues make it.
typedef struct anabranch_connections anabranch_connections;

// Group of weighted members, planned by one technique. Any number of threads pick from it while others change it.
typedef struct anabranch_group anabranch_group;

// Network of a scenario that a program drives: it sends messages, lets time pass, and asks what has ended.
typedef struct anabranch_network anabranch_network;

// Handle of one thread on a group, for picks one by one: it keeps the plan that it saw last and looks at each pick
// whether there is another.
typedef struct anabranch_reader anabranch_reader;

// Slow start of members: one that began so long ago gets max(min_percent / 100, (age / window)^(1 / aggression)) of its
// weight.
typedef struct {
  // Time in nanoseconds after which a member has its whole weight, positive.
  uint64_t window_ns;
  // Aggression, positive: 1 is a straight line, more is faster at first.
  double aggression;
  // Percentage of its weight that a member has from the beginning, 0 to 100.
  double min_percent;
} anabranch_slow_start;

// State of a group in a few bytes. Two groups with the same digest pick the same now, and after the same later updates.
typedef struct {
  // Number of updates since the group was made, those before its snapshots among them.
  uint64_t updates;
  // Upper half of the digest of technique, parameters, weights and history: against accidents, not attackers.
  uint64_t digest_high;
  // Lower half of it.
  uint64_t digest_low;
} anabranch_revision;

// Message to send.
typedef struct {
  // Payload in bytes, at least one.
  uint64_t bytes;
  // Time at which it is sent, in picoseconds; ANABRANCH_NO_TIME: now.
  uint64_t at_ps;
  // Number of the host that sends, from 0.
  uint32_t src;
  // Number of the host that receives; another one.
  uint32_t dst;
  // Transport: 0 is the scenario's own, further ones those that its traffic names, in their order.
  uint8_t transport;
} anabranch_message;

// End of a message.
typedef struct {
  // Time at which it ended, in picoseconds.
  uint64_t at_ps;
  // Number of the message, as anabranch_network_send wrote it.
  uint32_t message;
  // 1 if all of it was delivered; 0 for datagrams of which some were lost.
  uint8_t whole;
} anabranch_end;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Message of the last call of this thread that failed, UTF-8; empty if none has. It is there until the thread's next
// call that fails. Free nothing.
const char *anabranch_last_error(void);

// Version of the library, as in "0.2.0".
const char *anabranch_version(void);

// Plans `members` members with whole-numbered `weights`, all of them up, by the technique of that name
// (docs/which.md lists them; "min-move" unless you know better). `settings` are `settings_len` parameters of the
// technique, each "key=value"; NULL and 0 for none. At most 1024 members, whose weights sum up to at most 2^53; one is
// positive.
anabranch_status anabranch_group_new(const char *technique,
                                     const uint64_t *weights,
                                     size_t members,
                                     const char *const *settings,
                                     size_t settings_len,
                                     anabranch_group **group);

// Makes a group with the plan, history and flows of another, and its own from then on: for techniques that remember
// flows, one for each thread.
anabranch_status anabranch_group_copy(const anabranch_group *group,
                                      anabranch_group **copy);

// Picks the member of one packet of the flow with this key, a 64-bit hash all of whose bits depend on all that names
// the flow. UINT16_MAX (ANABRANCH_NO_MEMBER) if there is no group.
uint16_t anabranch_group_pick(const anabranch_group *group,
                              uint64_t key);

// Picks the members of `packets` packets, in order of arrival, into `members`. `bytes` of each on the wire and
// `times_ns` of arrival (ascending) may be NULL; techniques of granularity "packet" read them. An update meanwhile takes
// effect at some packet of the batch.
anabranch_status anabranch_group_pick_batch(const anabranch_group *group,
                                            const uint64_t *keys,
                                            const uint32_t *bytes,
                                            const uint64_t *times_ns,
                                            size_t packets,
                                            uint16_t *members);

// Plans anew, moving what the technique's rule moves and no more. `weights`: NULL keeps them. `up` has a byte for each
// member, 0 if it is down; NULL: all are up. `members` is at least the number before: members keep their numbers, a
// longer list appends some, and one that is gone has the weight 0. On an error the old plan stands. Picks that begin
// after the return see the new plan; a reader sees it at its next pick.
anabranch_status anabranch_group_update(const anabranch_group *group,
                                        const uint64_t *weights,
                                        const uint8_t *up,
                                        size_t members);

// Number of members, those that are down included; 0 if there is no group.
size_t anabranch_group_members(const anabranch_group *group);

// Writes the share of each of the `members` members under a perfect hash, exact for the present plan. `members` is what
// anabranch_group_members returns. ANABRANCH_STATUS_UNDECIDED if the technique leaves it to the traffic.
anabranch_status anabranch_group_shares(const anabranch_group *group,
                                        double *shares,
                                        size_t members);

// Writes the length of the table by which the technique picks, and the member of each slot if `room` is enough for all
// (else ANABRANCH_STATUS_ROOM): a flow goes to members[key % len], `key` being the low 32 bits. The length is 0 where
// the technique computes, as "log-rendezvous" does, or remembers flows.
anabranch_status anabranch_group_table(const anabranch_group *group,
                                       uint16_t *members,
                                       size_t room,
                                       size_t *len);

// Frees a group, or nothing if it is NULL. Its readers and connections go on with the plan as it is.
void anabranch_group_free(anabranch_group *group);

// Makes a reader of a group, which the reader keeps even when it is freed.
anabranch_status anabranch_reader_new(const anabranch_group *group, anabranch_reader **reader);

// Picks as anabranch_group_pick does, and always by the present plan. UINT16_MAX (ANABRANCH_NO_MEMBER) if there is no
// reader.
uint16_t anabranch_reader_pick(anabranch_reader *reader,
                               uint64_t key);

// Frees a reader, or nothing if it is NULL.
void anabranch_reader_free(anabranch_reader *reader);

// Picks and writes the member of a new connection, so that none gets more than ceil((1 + eps) w / W (m + 1)) of them: m
// connections live on members that are up, w is the member's weight and W that of all which are up. `loads` are the live
// connections of each of the `members` members, which you count, as you remember the member of each connection. It is
// anabranch_group_pick's member while that one is below its bound. `eps` is from 0.000001 to 1024. For techniques of
// granularity "stateless".
anabranch_status anabranch_group_pick_bounded(const anabranch_group *group,
                                              uint64_t key,
                                              const uint64_t *loads,
                                              size_t members,
                                              double eps,
                                              uint16_t *member);

// Drains a member: it takes no new connections, and all connections of the group stay where they are until `until_ns`,
// as long as their member is up. anabranch_connections_pick tells new from old; all other picks are those of new ones.
// `now_ns` is the present time by the clock of the deadlines. The member weighs nothing until anabranch_group_undrain,
// also after the deadline, and later updates leave it draining. Where no other member is up any more it takes new
// connections after all. For techniques of granularity "stateless".
anabranch_status anabranch_group_drain(const anabranch_group *group,
                                       uint16_t member,
                                       uint64_t now_ns,
                                       uint64_t until_ns);

// Ends the drain of a member: it takes connections again, its own slots first.
anabranch_status anabranch_group_undrain(const anabranch_group *group, uint16_t member);

// Makes the connections of one thread, none yet, of a group that they keep even when it is freed.
anabranch_status anabranch_connections_new(const anabranch_group *group, anabranch_connections **connections);

// Picks the member of one packet of the connection with this key. `begins`: it is the connection's first packet, as a TCP
// packet with SYN alone is. `now_ns` is the present time by the clock of the deadlines. UINT16_MAX
// (ANABRANCH_NO_MEMBER) if there are no connections.
uint16_t anabranch_connections_pick(anabranch_connections *connections,
                                    uint64_t key,
                                    bool begins,
                                    uint64_t now_ns);

// Bytes of what connections remember: new ones while a drain lasts, and 0 after it. 0 if there are none.
size_t anabranch_connections_state_bytes(const anabranch_connections *connections);

// Frees connections, or nothing if it is NULL.
void anabranch_connections_free(anabranch_connections *connections);

// Plans anew as anabranch_group_update does, of members of which some are starting. `ages_ns` has the time since each
// began, ANABRANCH_NO_AGE for one that is not starting. Call it again as they age, every second, say: all steps together
// move what one change would. The sum of the weights is at most 2^37 while a member is starting.
anabranch_status anabranch_group_slow_start(const anabranch_group *group,
                                            anabranch_slow_start rule,
                                            const uint64_t *ages_ns,
                                            const uint64_t *weights,
                                            const uint8_t *up,
                                            size_t members);

// Writes the length in bytes of the group's whole state, and the state if `room` is enough for it (else
// ANABRANCH_STATUS_ROOM): technique, parameters, weights, and the history that later updates build on. For techniques of
// granularity "stateless".
anabranch_status anabranch_group_snapshot(const anabranch_group *group,
                                          uint8_t *bytes,
                                          size_t room,
                                          size_t *len);

// Makes the group that left this snapshot: it picks as that one did, and after any later updates as that one would.
// Bytes that were cut, changed or forged are refused.
anabranch_status anabranch_group_restore(const uint8_t *bytes,
                                         size_t bytes_len,
                                         anabranch_group **group);

// Writes the revision of a group, by which replicas tell whether they agree. For techniques of granularity "stateless".
anabranch_status anabranch_group_revision(const anabranch_group *group,
                                          anabranch_revision *revision);

// Writes the length in bytes of the difference from the state of `base`, a replica or an earlier copy, to the state of
// `group`, and the difference if `room` is enough for it (else ANABRANCH_STATUS_ROOM): members, and the slots that
// differ. Both have the same technique and parameters.
anabranch_status anabranch_group_delta(const anabranch_group *group,
                                       const anabranch_group *base,
                                       uint8_t *bytes,
                                       size_t room,
                                       size_t *len);

// Takes the state of another replica in place of the group's own, as an update does: from a snapshot of that replica, or
// from a delta that begins at the state of this group. A delta from another state is refused. All drains end.
anabranch_status anabranch_group_adopt(const anabranch_group *group,
                                       const uint8_t *bytes,
                                       size_t bytes_len);

// Opens the network of a scenario file at time 0. `settings` are `settings_len` keys to set, each "key=value" as in
// "routing.balance=ecmp"; NULL and 0 for none. `background`: with the traffic of the scenario beside what is sent.
anabranch_status anabranch_network_open(const char *file,
                                        const char *const *settings,
                                        size_t settings_len,
                                        bool background,
                                        anabranch_network **network);

// Opens the network of a scenario's text. `file` is the name that errors show; files that the scenario names are
// relative to its folder. Else as anabranch_network_open.
anabranch_status anabranch_network_of_text(const char *scenario,
                                           const char *file,
                                           const char *const *settings,
                                           size_t settings_len,
                                           bool background,
                                           anabranch_network **network);

// Number of hosts, which are numbered from 0; 0 if there is no network.
uint32_t anabranch_network_hosts(const anabranch_network *network);

// Writes the number of the host of a name, as in "host3".
anabranch_status anabranch_network_host(const anabranch_network *network, const char *name, uint32_t *host);

// Present time in picoseconds; ANABRANCH_NO_TIME if there is no network or another thread drives it.
uint64_t anabranch_network_now(const anabranch_network *network);

// Time of the next event in picoseconds: nothing ends before it, unless it is sent before. ANABRANCH_NO_TIME if nothing
// will happen, as after an error.
uint64_t anabranch_network_next_event(const anabranch_network *network);

// Writes the least time that a message takes on the fabric as built, in picoseconds, whatever else is under way; its
// own time is not read.
anabranch_status anabranch_network_ideal(const anabranch_network *network,
                                         anabranch_message message,
                                         uint64_t *time_ps);

// Sends a message. Writes its number, which its end will have, unless `number` is NULL.
anabranch_status anabranch_network_send(const anabranch_network *network,
                                        anabranch_message message,
                                        uint32_t *number);

// Sends `messages_len` messages: all of them, or none. They have consecutive numbers; writes the first, unless `first`
// is NULL.
anabranch_status anabranch_network_send_many(const anabranch_network *network,
                                             const anabranch_message *messages,
                                             size_t messages_len,
                                             uint32_t *first);

// Changes the fabric as the scenario's tables `[[change]]` would, whose text `changes` is; a time `at` that is over is
// refused.
anabranch_status anabranch_network_change(const anabranch_network *network,
                                          const char *changes);

// Lets everything happen that comes before a time in picoseconds, and nothing of that time itself.
anabranch_status anabranch_network_run_until(const anabranch_network *network, uint64_t time_ps);

// Goes on until a message ends, or to `time_ps` if none does before; with ANABRANCH_NO_TIME to 10 s after the last
// message was to be sent. Stays if ends wait that nobody has taken, and without a time if no message is open.
anabranch_status anabranch_network_run_until_any_done(const anabranch_network *network,
                                                      uint64_t time_ps);

// Number of messages that were sent and have not ended; 0 if there is no network.
size_t anabranch_network_unfinished(const anabranch_network *network);

// Number of messages that have ended and that nobody has taken; 0 if there is no network.
size_t anabranch_network_done(const anabranch_network *network);

// Takes at most `room` messages that have ended, in the order in which they ended, into `ends`, and writes how many
// those are. The others stay.
anabranch_status anabranch_network_take_done(const anabranch_network *network,
                                             anabranch_end *ends,
                                             size_t room,
                                             size_t *taken);

// Frees a network, or nothing if it is NULL. Its simulation's thread has ended when this returns.
void anabranch_network_free(anabranch_network *network);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* ANABRANCH_H */
