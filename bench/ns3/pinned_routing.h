// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#pragma once

#include "ns3/ipv4-l3-protocol.h"
#include "ns3/ipv4-route.h"
#include "ns3/ipv4-routing-helper.h"
#include "ns3/ipv4-routing-protocol.h"
#include "ns3/packet.h"

#include <vector>

// ns-3.38 made the callbacks of RouteInput() references; no header tells its version.
#ifdef NS3_CALLBACKS_BY_REFERENCE
#define NS3_CALLBACK(type) const type&
#else
#define NS3_CALLBACK(type) type
#endif

/// Flows chosen to paths by their ports: a receiver listens at port 1 + path, senders use ports from
/// `FIRST_SENDER_PORT`, so either direction's first four TCP bytes tell the path. Hosts are 10.leaf.host.1.
class PinnedRouting : public ns3::Ipv4RoutingProtocol
{
  public:
    static constexpr uint16_t FIRST_SENDER_PORT = 1024;
    enum class Role
    {
        Host,
        Leaf,
        Spine
    };

    static ns3::Ipv4Address HostAddress(uint32_t leaf, uint32_t host)
    {
        return ns3::Ipv4Address(0x0a000001u | leaf << 16 | host << 8);
    }

    static ns3::TypeId GetTypeId()
    {
        static ns3::TypeId tid = ns3::TypeId("PinnedRouting").SetParent<ns3::Ipv4RoutingProtocol>();
        return tid;
    }

    /// `leaf`: the node's own number if it is a leaf. Interfaces are added in order: a leaf's hosts, then its spines;
    /// a spine's leaves.
    void Configure(Role role, uint32_t leaf, uint32_t hostsPerLeaf)
    {
        m_role = role;
        m_leaf = leaf;
        m_hostsPerLeaf = hostsPerLeaf;
    }

    /// The routes, once all interfaces are there; they never change.
    void Freeze()
    {
        for (uint32_t interface = 1; interface < m_ipv4->GetNInterfaces(); ++interface)
        {
            ns3::Ptr<ns3::Ipv4Route> route = ns3::Create<ns3::Ipv4Route>();
            route->SetOutputDevice(m_ipv4->GetNetDevice(interface));
            route->SetGateway(ns3::Ipv4Address::GetAny());
            if (m_role == Role::Host)
            {
                route->SetSource(m_ipv4->GetAddress(interface, 0).GetLocal());
            }
            m_routes.push_back(route);
        }
    }

    ns3::Ptr<ns3::Ipv4Route> RouteOutput(ns3::Ptr<ns3::Packet>,
                                         const ns3::Ipv4Header&,
                                         ns3::Ptr<ns3::NetDevice>,
                                         ns3::Socket::SocketErrno& error) override
    {
        error = ns3::Socket::ERROR_NOTERROR;
        return m_routes[0];
    }

    bool RouteInput(ns3::Ptr<const ns3::Packet> packet,
                    const ns3::Ipv4Header& header,
                    ns3::Ptr<const ns3::NetDevice> device,
                    NS3_CALLBACK(UnicastForwardCallback) forward,
                    NS3_CALLBACK(MulticastForwardCallback),
                    NS3_CALLBACK(LocalDeliverCallback) deliver,
                    NS3_CALLBACK(ErrorCallback)) override
    {
        if (m_role == Role::Host)
        {
            deliver(packet, header, m_ipv4->GetInterfaceForDevice(device));
            return true;
        }
        const uint32_t address = header.GetDestination().Get();
        const uint32_t leaf = address >> 16 & 0xff;
        uint32_t out = leaf;
        if (m_role == Role::Leaf)
        {
            out = leaf == m_leaf ? address >> 8 & 0xff : m_hostsPerLeaf + Path(packet);
        }
        forward(m_routes[out], packet, header);
        return true;
    }

    void NotifyInterfaceUp(uint32_t) override
    {
    }

    void NotifyInterfaceDown(uint32_t) override
    {
    }

    void NotifyAddAddress(uint32_t, ns3::Ipv4InterfaceAddress) override
    {
    }

    void NotifyRemoveAddress(uint32_t, ns3::Ipv4InterfaceAddress) override
    {
    }

    void SetIpv4(ns3::Ptr<ns3::Ipv4> ipv4) override
    {
        m_ipv4 = ipv4;
    }

    void PrintRoutingTable(ns3::Ptr<ns3::OutputStreamWrapper>, ns3::Time::Unit) const override
    {
    }

  protected:
    void DoDispose() override
    {
        m_routes.clear();
        m_ipv4 = nullptr;
        Ipv4RoutingProtocol::DoDispose();
    }

  private:
    static uint32_t Path(ns3::Ptr<const ns3::Packet> segment)
    {
        uint8_t ports[4];
        segment->CopyData(ports, sizeof ports);
        const uint32_t source = ports[0] << 8 | ports[1];
        const uint32_t destination = ports[2] << 8 | ports[3];
        return (source < FIRST_SENDER_PORT ? source : destination) - 1;
    }

    Role m_role = Role::Host;
    uint32_t m_leaf = 0;
    uint32_t m_hostsPerLeaf = 0;
    ns3::Ptr<ns3::Ipv4> m_ipv4;
    std::vector<ns3::Ptr<ns3::Ipv4Route>> m_routes;
};

/// Gives each node its routing; the node's role is told afterwards.
class PinnedRoutingHelper : public ns3::Ipv4RoutingHelper
{
  public:
    PinnedRoutingHelper* Copy() const override
    {
        return new PinnedRoutingHelper(*this);
    }

    ns3::Ptr<ns3::Ipv4RoutingProtocol> Create(ns3::Ptr<ns3::Node>) const override
    {
        return ns3::CreateObject<PinnedRouting>();
    }
};
