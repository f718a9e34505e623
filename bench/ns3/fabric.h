// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#pragma once

#include "pinned_routing.h"
#include "step_fifo.h"

#include "ns3/boolean.h"
#include "ns3/fq-codel-queue-disc.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-l3-protocol.h"
#include "ns3/net-device-queue-interface.h"
#include "ns3/node-container.h"
#include "ns3/point-to-point-channel.h"
#include "ns3/point-to-point-net-device.h"
#include "ns3/string.h"
#include "ns3/traffic-control-layer.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

/// Leaf-spine settings; every link has the same rate and delay, every port of a switch the same room and marking.
/// At a host's own port: endless room and no marks ("endless"); as at a switch ("switch"), which is what programs of
/// ns-3 have that install one queue disc everywhere; a queue for each flow, served in turn ("fair": FqCoDel without
/// CoDel); or what ns-3 installs by itself ("default": FqCoDel over a device queue of 100 packets).
struct FabricSettings
{
    uint32_t leaves = 4;
    uint32_t spines = 4;
    uint32_t hostsPerLeaf = 8;
    uint64_t rateBps = 10'000'000'000;
    uint64_t delayNs = 1000;
    uint32_t bufferPackets = UINT32_MAX;
    uint64_t bufferBytes = 300'000;
    uint32_t markPackets = 65;
    std::string hostQueue = "endless";

    uint32_t Hosts() const
    {
        return leaves * hostsPerLeaf;
    }
};

/// The nodes, wired, addressed, routed; counts what its ports do.
class LeafSpine
{
  public:
    explicit LeafSpine(const FabricSettings& settings)
        : m_settings(settings)
    {
        if (settings.hostQueue != "endless" && settings.hostQueue != "switch" && settings.hostQueue != "fair" &&
            settings.hostQueue != "default")
        {
            throw std::runtime_error("--host-queue is endless, switch, fair or default");
        }
        m_hosts.Create(settings.Hosts());
        m_leaves.Create(settings.leaves);
        m_spines.Create(settings.spines);
        ns3::InternetStackHelper stack;
        stack.SetIpv6StackInstall(false);
        stack.SetRoutingHelper(PinnedRoutingHelper());
        stack.Install(m_hosts);
        stack.Install(m_leaves);
        stack.Install(m_spines);
        for (uint32_t leaf = 0; leaf < settings.leaves; ++leaf)
        {
            for (uint32_t host = 0; host < settings.hostsPerLeaf; ++host)
            {
                Connect(m_hosts.Get(leaf * settings.hostsPerLeaf + host), m_leaves.Get(leaf));
            }
        }
        for (uint32_t leaf = 0; leaf < settings.leaves; ++leaf)
        {
            for (uint32_t spine = 0; spine < settings.spines; ++spine)
            {
                Connect(m_leaves.Get(leaf), m_spines.Get(spine));
            }
        }
        for (uint32_t host = 0; host < settings.Hosts(); ++host)
        {
            auto ipv4 = m_hosts.Get(host)->GetObject<ns3::Ipv4L3Protocol>();
            ipv4->AddAddress(1, {Address(host), ns3::Ipv4Mask("255.255.255.0")});
            Route(m_hosts.Get(host), PinnedRouting::Role::Host, 0);
        }
        for (uint32_t leaf = 0; leaf < settings.leaves; ++leaf)
        {
            Route(m_leaves.Get(leaf), PinnedRouting::Role::Leaf, leaf);
        }
        for (uint32_t spine = 0; spine < settings.spines; ++spine)
        {
            Route(m_spines.Get(spine), PinnedRouting::Role::Spine, 0);
        }
    }

    ns3::Ptr<ns3::Node> Host(uint32_t host) const
    {
        return m_hosts.Get(host);
    }

    ns3::Ipv4Address Address(uint32_t host) const
    {
        return PinnedRouting::HostAddress(host / m_settings.hostsPerLeaf, host % m_settings.hostsPerLeaf);
    }

    /// Packets that began transmission on any port: data, acknowledgements, SYN, FIN.
    uint64_t PacketHops() const
    {
        return *m_packetHops;
    }

    uint64_t Dropped() const
    {
        uint64_t sum = 0;
        for (const auto& queue : m_queues)
        {
            sum += queue->Dropped();
        }
        for (const auto& disc : m_fair)
        {
            sum += disc->GetStats().nTotalDroppedPackets;
        }
        return sum;
    }

    uint64_t Marked() const
    {
        uint64_t sum = 0;
        for (const auto& queue : m_queues)
        {
            sum += queue->Marked();
        }
        for (const auto& disc : m_fair)
        {
            sum += disc->GetStats().nTotalMarkedPackets;
        }
        return sum;
    }

  private:
    static void CountHop(uint64_t* hops, ns3::Ptr<const ns3::Packet>)
    {
        ++*hops;
    }

    void Connect(ns3::Ptr<ns3::Node> a, ns3::Ptr<ns3::Node> b)
    {
        auto channel = ns3::CreateObject<ns3::PointToPointChannel>();
        channel->SetAttribute("Delay", ns3::TimeValue(ns3::NanoSeconds(m_settings.delayNs)));
        Attach(a, channel);
        Attach(b, channel);
    }

    void Attach(ns3::Ptr<ns3::Node> node, ns3::Ptr<ns3::PointToPointChannel> channel)
    {
        const bool host = node->GetId() < m_settings.Hosts();
        auto device = ns3::CreateObject<ns3::PointToPointNetDevice>();
        device->SetAddress(ns3::Mac48Address::Allocate());
        device->SetDataRate(ns3::DataRate(m_settings.rateBps));
        device->SetInterframeGap(ns3::Seconds(0));
        device->SetMtu(1500);
        auto queue = ns3::CreateObject<ns3::DropTailQueue<ns3::Packet>>();
        const bool untouched = host && m_settings.hostQueue == "default";
        if (!untouched)
        {
            queue->SetMaxSize(ns3::QueueSize("1p"));
        }
        device->SetQueue(queue);
        node->AddDevice(device);
        auto flowControl = ns3::CreateObject<ns3::NetDeviceQueueInterface>();
        flowControl->GetTxQueue(0)->ConnectQueueTraces(queue);
        device->AggregateObject(flowControl);
        device->Attach(channel);
        device->TraceConnectWithoutContext("PhyTxBegin",
                                           ns3::MakeBoundCallback(&LeafSpine::CountHop, m_packetHops.get()));

        ns3::Ptr<ns3::QueueDisc> root;
        if (untouched || (host && m_settings.hostQueue == "fair"))
        {
            root = ns3::CreateObject<ns3::FqCoDelQueueDisc>();
            if (!untouched)
            {
                root->SetAttribute("MaxSize", ns3::QueueSizeValue(ns3::QueueSize("1000000p")));
                root->SetAttribute("Target", ns3::StringValue("1000s"));
                root->SetAttribute("UseEcn", ns3::BooleanValue(false));
            }
            m_fair.push_back(root);
        }
        else
        {
            auto disc = ns3::CreateObject<StepFifo>();
            if (host && m_settings.hostQueue == "endless")
            {
                disc->Configure(queue, UINT32_MAX, UINT64_MAX, UINT32_MAX);
            }
            else
            {
                disc->Configure(queue, m_settings.bufferPackets, m_settings.bufferBytes, m_settings.markPackets);
            }
            m_queues.push_back(disc);
            root = disc;
        }
        node->GetObject<ns3::TrafficControlLayer>()->SetRootQueueDiscOnDevice(device, root);

        auto ipv4 = node->GetObject<ns3::Ipv4>();
        const uint32_t interface = ipv4->AddInterface(device);
        ipv4->SetMetric(interface, 1);
        ipv4->SetUp(interface);
    }

    // Interface 0 is the loopback; Freeze() begins at 1.
    void Route(ns3::Ptr<ns3::Node> node, PinnedRouting::Role role, uint32_t leaf)
    {
        auto routing = ns3::DynamicCast<PinnedRouting>(node->GetObject<ns3::Ipv4>()->GetRoutingProtocol());
        routing->Configure(role, leaf, m_settings.hostsPerLeaf);
        routing->Freeze();
    }

    FabricSettings m_settings;
    ns3::NodeContainer m_hosts;
    ns3::NodeContainer m_leaves;
    ns3::NodeContainer m_spines;
    std::vector<ns3::Ptr<StepFifo>> m_queues;
    std::vector<ns3::Ptr<ns3::QueueDisc>> m_fair;
    std::unique_ptr<uint64_t> m_packetHops = std::make_unique<uint64_t>(0);
};
