/* anabranch: weighted groups to pick from, and a network that your program drives. Written by `make reference`.
 *
 * Calls. A call returns a status; if that is not ANABRANCH_STATUS_OK, anabranch_last_error() says what is wrong and what
 * would work. A call that is refused has done nothing. NULL where something is due, a pointer that is not aligned, a
 * length that does not fit and a text that is not UTF-8 are refused. No Rust panic leaves the library: it becomes
 * ANABRANCH_STATUS_DEFECT.
 *
 * Pointers. What the library cannot see is up to you: an array has as many values as you say, a text ends with a zero
 * byte, a handle came from the library and has not been freed, and arrays that are written overlap no other argument.
 * Nothing that you pass is kept after the call. A handle that cannot be made is written as NULL. Free every handle once.
 *
 * Threads. A group: any call from any number of threads at the same time. Techniques of granularity "flow" and "packet"
 * remember flows, and one thread at a time has the use of that: give each thread a copy. A reader: one thread at a time.
 * A network: one thread at a time; a second one is refused. Nobody may use a handle while or after it is freed. The last
 * error belongs to the thread. After fork() a child must not use a network that its parent opened.
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
} anabranch_status;

// Group of weighted members, planned by one technique. Any number of threads pick from it while others change it.
typedef struct anabranch_group anabranch_group;

// Network of a scenario that a program drives: it sends messages, lets time pass, and asks what has ended.
typedef struct anabranch_network anabranch_network;

// Handle of one thread on a group, for picks one by one: it keeps the plan that it saw last and looks at each pick
// whether there is another.
typedef struct anabranch_reader anabranch_reader;

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

// Frees a group, or nothing if it is NULL. Its readers go on with the plan as it is.
void anabranch_group_free(anabranch_group *group);

// Makes a reader of a group, which the reader keeps even when it is freed.
anabranch_status anabranch_reader_new(const anabranch_group *group, anabranch_reader **reader);

// Picks as anabranch_group_pick does, and always by the present plan. UINT16_MAX (ANABRANCH_NO_MEMBER) if there is no
// reader.
uint16_t anabranch_reader_pick(anabranch_reader *reader,
                               uint64_t key);

// Frees a reader, or nothing if it is NULL.
void anabranch_reader_free(anabranch_reader *reader);

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
