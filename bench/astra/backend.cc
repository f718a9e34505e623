// A backend of ASTRA-sim's network interface: its messages go through a network of anabranch (docs/c.md).
//
// The present time of the network is the time of the simulation. Events that ASTRA-sim schedules stand in a queue of
// their own; the network goes on to the next of them, or to the end of a message before it. NPU n is host n.

#include <anabranch.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <map>
#include <memory>
#include <queue>
#include <sstream>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "astra-sim/common/AstraNetworkAPI.hh"
#include "astra-sim/common/Logging.hh"
#include "astra-sim/system/Sys.hh"
#include "extern/remote_memory_backend/analytical/AnalyticalRemoteMemory.hh"

namespace {

constexpr uint64_t PS_PER_NS = 1000;

[[noreturn]] void fail(const std::string& message) {
    std::cerr << "astra: " << message << std::endl;
    std::exit(2);
}

void must(anabranch_status status) {
    if (status != ANABRANCH_STATUS_OK) fail(anabranch_last_error());
}

// A call that ASTRA-sim asks for.
struct Handler {
    void (*function)(void*) = nullptr;
    void* argument = nullptr;

    void operator()() const {
        if (function != nullptr) function(argument);
    }
};

// An event that ASTRA-sim has scheduled; those of one time come in the order in which they were scheduled.
struct Event {
    uint64_t at_ps, order;
    Handler handler;

    bool operator>(const Event& other) const {
        return std::tie(at_ps, order) > std::tie(other.at_ps, other.order);
    }
};

// What a sender and a receiver must agree on: tag, source, destination, bytes. Messages that do are alike.
using Key = std::tuple<int, int, int, uint64_t>;

// The simulation: clock, events and messages of all NPUs.
class World {
   public:
    World(const std::string& scenario, const std::vector<const char*>& settings) {
        must(anabranch_network_open(scenario.c_str(), settings.data(), settings.size(), false, &network_));
    }
    ~World() { anabranch_network_free(network_); }
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    uint32_t hosts() const { return anabranch_network_hosts(network_); }
    uint64_t now_ps() const { return now_ps_; }
    uint64_t messages() const { return messages_; }
    uint64_t events() const { return scheduled_; }

    void schedule(uint64_t at_ps, Handler handler) { events_.push({at_ps, scheduled_++, handler}); }

    void send(int src, int dst, int tag, uint64_t bytes, Handler sent) {
        const Key key{tag, src, dst, bytes};
        if (src == dst) {
            loopback_.push_back({key, sent});
            schedule(now_ps_, {[](void* world) { static_cast<World*>(world)->end_loopback(); }, this});
            return;
        }
        anabranch_message message{};
        message.bytes = std::max<uint64_t>(bytes, 1);
        message.at_ps = ANABRANCH_NO_TIME;
        message.src = static_cast<uint32_t>(src);
        message.dst = static_cast<uint32_t>(dst);
        uint32_t number = 0;
        must(anabranch_network_send(network_, message, &number));
        under_way_.emplace(number, std::make_pair(key, sent));
        messages_++;
    }

    void receive(int src, int dst, int tag, uint64_t bytes, Handler received) {
        Inbox& inbox = inboxes_[{tag, src, dst, bytes}];
        if (inbox.arrived > 0) {
            inbox.arrived--;
            schedule(now_ps_, received);
        } else {
            inbox.waiting.push_back(received);
        }
    }

    void run() {
        while (!events_.empty() || !under_way_.empty()) {
            if (!events_.empty() && events_.top().at_ps <= now_ps_) {
                const Handler handler = events_.top().handler;
                events_.pop();
                handler();
                continue;
            }
            go_on(events_.empty() ? ANABRANCH_NO_TIME : events_.top().at_ps);
        }
    }

   private:
    struct Inbox {
        uint64_t arrived = 0;
        std::deque<Handler> waiting;
    };

    // Lets time pass up to a time, or to the end of a message before it.
    void go_on(uint64_t until_ps) {
        if (under_way_.empty()) {
            must(anabranch_network_run_until(network_, until_ps));
        } else {
            must(anabranch_network_run_until_any_done(network_, until_ps));
        }
        now_ps_ = anabranch_network_now(network_);
        anabranch_end ends[64];
        size_t taken = 0, all = 0;
        do {
            must(anabranch_network_take_done(network_, ends, 64, &taken));
            for (size_t i = 0; i < taken; i++) end(ends[i]);
            all += taken;
        } while (taken == 64);
        if (all == 0 && until_ps == ANABRANCH_NO_TIME) {
            fail(std::to_string(under_way_.size()) + " messages do not end; look at the scenario's failures");
        }
    }

    void end(const anabranch_end& end) {
        const auto at = under_way_.find(end.message);
        const auto [key, sent] = at->second;
        under_way_.erase(at);
        if (!end.whole) fail("a message was lost; choose a transport that sends again");
        arrive(key, sent);
    }

    void end_loopback() {
        const auto [key, sent] = loopback_.front();
        loopback_.pop_front();
        arrive(key, sent);
    }

    // A message has arrived: its sender hears of it, then its receiver, now or when it asks.
    void arrive(const Key& key, Handler sent) {
        sent();
        Inbox& inbox = inboxes_[key];
        if (inbox.waiting.empty()) {
            inbox.arrived++;
            return;
        }
        const Handler received = inbox.waiting.front();
        inbox.waiting.pop_front();
        received();
    }

    anabranch_network* network_ = nullptr;
    uint64_t now_ps_ = 0, scheduled_ = 0, messages_ = 0;
    std::priority_queue<Event, std::vector<Event>, std::greater<Event>> events_;
    std::unordered_map<uint32_t, std::pair<Key, Handler>> under_way_;
    std::map<Key, Inbox> inboxes_;
    std::deque<std::pair<Key, Handler>> loopback_;
};

// The network as one NPU sees it.
class Endpoint : public AstraSim::AstraNetworkAPI {
   public:
    Endpoint(int rank, World& world, const std::vector<double>& bandwidths)
        : AstraNetworkAPI(rank), world_(world), bandwidths_(bandwidths) {}

    int sim_send(void*, uint64_t count, int, int dst, int tag, AstraSim::sim_request*, void (*handler)(void*),
                 void* argument) override {
        world_.send(rank, dst, tag, count, {handler, argument});
        return 0;
    }

    int sim_recv(void*, uint64_t count, int, int src, int tag, AstraSim::sim_request*, void (*handler)(void*),
                 void* argument) override {
        world_.receive(src, rank, tag, count, {handler, argument});
        return 0;
    }

    void sim_schedule(AstraSim::timespec_t delta, void (*handler)(void*), void* argument) override {
        if (delta.time_res != AstraSim::NS) fail("a time that is not in nanoseconds");
        const auto delta_ps = static_cast<uint64_t>(delta.time_val * PS_PER_NS);
        world_.schedule(world_.now_ps() + delta_ps, {handler, argument});
    }

    AstraSim::timespec_t sim_get_time() override {
        return {AstraSim::NS, static_cast<long double>(world_.now_ps()) / PS_PER_NS};
    }

    double get_BW_at_dimension(int dimension) override {
        return bandwidths_.empty() ? -1 : bandwidths_.at(static_cast<size_t>(dimension));
    }

   private:
    World& world_;
    const std::vector<double>& bandwidths_;
};

// Options, each --key=value or KEY=VALUE of the scenario.
struct Options {
    std::map<std::string, std::string> given;
    std::vector<const char*> settings;

    Options(int argc, char** argv) {
        for (int i = 1; i < argc; i++) {
            const std::string word = argv[i];
            const size_t equals = word.find('=');
            if (equals == std::string::npos) fail(word + ": no `=`; write --key=value, or key=value of the scenario");
            if (word.rfind("--", 0) == 0) {
                given[word.substr(2, equals - 2)] = word.substr(equals + 1);
            } else {
                settings.push_back(argv[i]);
            }
        }
    }

    std::string of(const std::string& key) const {
        const auto at = given.find(key);
        if (at == given.end()) fail("--" + key + " is missing");
        return at->second;
    }

    std::string of(const std::string& key, const std::string& otherwise) const {
        return given.count(key) ? given.at(key) : otherwise;
    }

    template <typename T>
    std::vector<T> list(const std::string& key) const {
        std::vector<T> values;
        std::istringstream words(of(key, ""));
        for (std::string word; std::getline(words, word, ',');) {
            T value;
            if (!(std::istringstream(word) >> value)) fail("--" + key + ": " + word + ": no number");
            values.push_back(value);
        }
        return values;
    }
};

}  // namespace

int main(int argc, char** argv) {
    const Options options(argc, argv);
    AstraSim::LoggerFactory::init(options.of("logging-configuration", "empty"));
    World world(options.of("network-configuration"), options.settings);
    // Dimensions of the logical topology; all hosts in one of them unless said otherwise.
    auto dimensions = options.list<int>("npus-count");
    if (dimensions.empty()) dimensions.push_back(static_cast<int>(world.hosts()));
    uint64_t npus = 1;
    for (const int size : dimensions) npus *= static_cast<uint64_t>(size);
    if (npus > world.hosts()) fail(std::to_string(npus) + " NPUs on " + std::to_string(world.hosts()) + " hosts");
    const auto bandwidths = options.list<double>("bandwidth");

    Analytical::AnalyticalRemoteMemory memory(options.of("remote-memory-configuration"));
    std::vector<std::unique_ptr<Endpoint>> endpoints;
    std::vector<AstraSim::Sys*> systems;  // they delete themselves
    for (int rank = 0; rank < static_cast<int>(npus); rank++) {
        endpoints.push_back(std::make_unique<Endpoint>(rank, world, bandwidths));
        systems.push_back(new AstraSim::Sys(
            rank, options.of("workload-configuration"), options.of("comm-group-configuration", "empty"),
            options.of("system-configuration"), &memory, endpoints.back().get(), dimensions,
            std::vector<int>(dimensions.size(), 1), 1.0, 1.0, options.of("rendezvous-protocol", "false") == "true"));
    }
    for (AstraSim::Sys* system : systems) system->workload->fire();
    world.run();
    AstraSim::LoggerFactory::shutdown();
    std::cout << "anabranch: " << world.messages() << " messages, " << world.events() << " events, ended at "
              << world.now_ps() << " ps" << std::endl;
    return 0;
}
