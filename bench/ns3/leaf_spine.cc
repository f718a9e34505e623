// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/// A leaf-spine fabric in ns-3 that carries a list of flows, each on a path it is told.
///
/// Prints one JSON object: every setting, then what came of it. Writes one CSV row per flow.

#include "applications.h"
#include "fabric.h"
#include "flow.h"
#include "transport.h"

#include "ns3/command-line.h"
#include "ns3/heap-scheduler.h"
#include "ns3/map-scheduler.h"
#include "ns3/priority-queue-scheduler.h"
#include "ns3/simulator.h"

#include <chrono>
#include <cstdio>
#include <functional>
#include <iostream>
#include <sys/resource.h>

namespace
{

/// A command line that remembers what it asked for, so that all of it can be printed.
class Settings
{
  public:
    template <typename T>
    void Add(const char* key, const char* help, T& value)
    {
        m_command.AddValue(key, help, value);
        m_print.push_back([key, &value](std::ostream& out) {
            out << '"' << key << "\": ";
            if constexpr (std::is_same_v<T, std::string>)
            {
                out << '"' << value << '"';
            }
            else
            {
                out << std::boolalpha << value;
            }
        });
    }

    void Parse(int argc, char** argv)
    {
        m_command.Parse(argc, argv);
    }

    void Print(std::ostream& out) const
    {
        for (const auto& print : m_print)
        {
            print(out);
            out << ", ";
        }
    }

  private:
    ns3::CommandLine m_command;
    std::vector<std::function<void(std::ostream&)>> m_print;
};

void
Write(const std::string& file, const std::vector<Flow>& flows)
{
    std::ofstream out(file);
    out << "id,size_bytes,start_ns,fct_ps,timeouts,recoveries\n";
    for (const Flow& flow : flows)
    {
        out << flow.id << ',' << flow.sizeBytes << ',' << flow.startNs << ',' << flow.fctPs << ','
            << flow.timeouts << ',' << flow.recoveries << '\n';
    }
    if (!out.flush())
    {
        throw std::runtime_error("cannot write " + file);
    }
}

int
Run(int argc, char** argv)
{
    std::string list;
    std::string out;
    std::string scheduler = "map";
    double endMs = 60'000;
    FabricSettings fabric;
    Transport transport;

    Settings settings;
    settings.Add("flows", "flow list: id,src,dst,size_bytes,start_ns,path", list);
    settings.Add("out", "where to write a row per flow", out);
    settings.Add("scheduler", "map, heap or priority", scheduler);
    settings.Add("end-ms", "end of the simulation if flows have not ended it before", endMs);
    settings.Add("leaves", "leaves", fabric.leaves);
    settings.Add("spines", "spines", fabric.spines);
    settings.Add("hosts-per-leaf", "hosts per leaf", fabric.hostsPerLeaf);
    settings.Add("rate-bps", "rate of every link", fabric.rateBps);
    settings.Add("delay-ns", "delay of every link", fabric.delayNs);
    settings.Add("buffer-packets", "room at every port of a switch, the packet in service included", fabric.bufferPackets);
    settings.Add("buffer-bytes", "the same in bytes of frames", fabric.bufferBytes);
    settings.Add("mark-packets", "backlog at which ports mark", fabric.markPackets);
    settings.Add("host-queue", "at hosts: endless, switch (as there), fair or default (ns-3's own)", fabric.hostQueue);
    settings.Add("control", "dctcp, linux-reno, newreno, cubic or own-round-cubic", transport.control);
    settings.Add("sack", "selective acknowledgement", transport.sack);
    settings.Add("recovery", "classic or prr", transport.recovery);
    settings.Add("limited-transmit", "RFC 3042", transport.limitedTransmit);
    settings.Add("dup-ack-threshold", "duplicate acknowledgements that mean a loss", transport.dupAckThreshold);
    settings.Add("timestamps", "RFC 7323; ns-3 then measures round trips in whole milliseconds",
                 transport.timestamps);
    settings.Add("initial-window", "segments", transport.initialWindow);
    settings.Add("mss-bytes", "payload of a full segment", transport.mssBytes);
    settings.Add("ack-every", "segments per acknowledgement", transport.ackEvery);
    settings.Add("ack-delay-us", "longest wait of a delayed acknowledgement", transport.ackDelayUs);
    settings.Add("rto-min-us", "least retransmission timeout", transport.rtoMinUs);
    settings.Add("rto-initial-us", "timeout before the first measurement, SYN's too", transport.rtoInitialUs);
    settings.Add("clock-granularity-us", "G of RFC 6298", transport.clockGranularityUs);
    settings.Add("window-max-bytes", "send buffer", transport.windowMaxBytes);
    settings.Add("dctcp-gain", "g", transport.dctcpGain);
    settings.Add("dctcp-alpha-initial", "alpha before the first window", transport.dctcpAlphaInitial);
    settings.Add("hystart", "CUBIC's early end of slow start", transport.hystart);
    settings.Parse(argc, argv);
    if (list.empty() || out.empty())
    {
        throw std::runtime_error("--flows and --out name files; --help lists all settings");
    }

    // 1,502 bytes take 1,201.6 ns at 10 Gb/s: ns-3's nanoseconds would round each hop.
    ns3::Time::SetResolution(ns3::Time::PS);
    transport.Apply();
    ns3::ObjectFactory queue;
    queue.SetTypeId(scheduler == "map"        ? ns3::MapScheduler::GetTypeId()
                    : scheduler == "priority" ? ns3::PriorityQueueScheduler::GetTypeId()
                                              : ns3::HeapScheduler::GetTypeId());
    ns3::Simulator::SetScheduler(queue);

    std::vector<Flow> flows = readFlows(list, fabric.Hosts(), fabric.hostsPerLeaf, fabric.spines);
    const LeafSpine network(fabric);
    const Applications applications(network, fabric, transport.mssBytes, flows);
    ns3::Simulator::Stop(ns3::MicroSeconds(static_cast<uint64_t>(endMs * 1e3)));
    const auto begin = std::chrono::steady_clock::now();
    ns3::Simulator::Run();
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);

    Write(out, flows);
    std::cout << '{';
    settings.Print(std::cout);
    std::cout << "\"flows_total\": " << flows.size() << ", \"flows_finished\": " << applications.Finished()
              << ", \"packet_hops\": " << network.PacketHops() << ", \"dropped_packets\": " << network.Dropped()
              << ", \"marked_packets\": " << network.Marked()
              << ", \"events\": " << ns3::Simulator::GetEventCount()
              << ", \"end_ns\": " << ns3::Simulator::Now().GetNanoSeconds() << ", \"wall_s\": " << wall.count()
              << ", \"peak_rss_bytes\": " << usage.ru_maxrss * 1024 << "}\n";
    ns3::Simulator::Destroy();
    return 0;
}

} // namespace

int
main(int argc, char** argv)
{
    try
    {
        return Run(argc, argv);
    }
    catch (const std::exception& error)
    {
        std::cerr << "leaf_spine: " << error.what() << '\n';
        return 2;
    }
}
