// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#pragma once

#include "fabric.h"
#include "flow.h"

#include "ns3/inet-socket-address.h"
#include "ns3/simulator.h"
#include "ns3/tcp-socket-base.h"
#include "ns3/tcp-socket-factory.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

/// What runs on the hosts: connects each flow at its time, writes it in whole segments as the send buffer has room,
/// counts what arrives, stops the simulation at the last byte of the last flow. A connection is closed when all it
/// sent is acknowledged, so that no FIN is part of a flow.
class Applications
{
  public:
    Applications(const LeafSpine& fabric,
                 const FabricSettings& settings,
                 uint32_t segmentBytes,
                 std::vector<Flow>& flows)
        : m_fabric(fabric),
          m_settings(settings),
          m_segmentBytes(segmentBytes),
          m_flows(flows),
          m_flowsOf(settings.Hosts())
    {
        for (uint32_t host = 0; host < settings.Hosts(); ++host)
        {
            for (uint32_t path = 0; path < settings.spines; ++path)
            {
                Listen(host, path);
            }
        }
        for (size_t index = 0; index < flows.size(); ++index)
        {
            std::vector<size_t>& mine = m_flowsOf[flows[index].src];
            const size_t port = PinnedRouting::FIRST_SENDER_PORT + mine.size();
            if (port > UINT16_MAX)
            {
                throw std::runtime_error("host " + std::to_string(flows[index].src) +
                                         " sends more flows than TCP has ports; shorten the list");
            }
            mine.push_back(index);
            ns3::Simulator::Schedule(ns3::NanoSeconds(flows[index].startNs), &Applications::Start, this, index,
                                     static_cast<uint16_t>(port));
        }
    }

    size_t Finished() const
    {
        return m_finished;
    }

  private:
    using Socket = ns3::Ptr<ns3::Socket>;

    void Listen(uint32_t host, uint32_t path)
    {
        Socket socket = ns3::Socket::CreateSocket(m_fabric.Host(host), ns3::TcpSocketFactory::GetTypeId());
        socket->Bind(ns3::InetSocketAddress(m_fabric.Address(host), 1 + path));
        socket->Listen();
        socket->SetAcceptCallback(ns3::MakeNullCallback<bool, Socket, const ns3::Address&>(),
                                  ns3::MakeBoundCallback(&Applications::Accept, this));
        m_listening.push_back(socket);
    }

    void Start(size_t index, uint16_t port)
    {
        const Flow& flow = m_flows[index];
        Socket socket = ns3::Socket::CreateSocket(m_fabric.Host(flow.src), ns3::TcpSocketFactory::GetTypeId());
        socket->Bind(ns3::InetSocketAddress(m_fabric.Address(flow.src), port));
        socket->TraceConnectWithoutContext("CongState",
                                           ns3::MakeBoundCallback(&Applications::StateChanged, &m_flows[index]));
        socket->SetSendCallback(ns3::MakeBoundCallback(&Applications::RoomToSend, this, index));
        socket->Connect(ns3::InetSocketAddress(m_fabric.Address(flow.dst), 1 + flow.path));
        m_bufferBytes = socket->GetTxAvailable();
        Write(index, socket, m_bufferBytes);
    }

    void Write(size_t index, Socket socket, uint32_t room)
    {
        Flow& flow = m_flows[index];
        const uint64_t left = flow.sizeBytes - flow.written;
        const uint32_t bytes = std::min<uint64_t>(left, room - room % m_segmentBytes);
        if (bytes > 0)
        {
            flow.written += socket->Send(ns3::Create<ns3::Packet>(bytes));
        }
    }

    static void RoomToSend(Applications* self, size_t index, Socket socket, uint32_t room)
    {
        if (self->m_flows[index].written < self->m_flows[index].sizeBytes)
        {
            self->Write(index, socket, room);
        }
        else if (room == self->m_bufferBytes)
        {
            socket->Close();
        }
    }

    static void Accept(Applications* self, Socket socket, const ns3::Address& from)
    {
        const auto peer = ns3::InetSocketAddress::ConvertFrom(from);
        const uint32_t address = peer.GetIpv4().Get();
        const uint32_t host = (address >> 16 & 0xff) * self->m_settings.hostsPerLeaf + (address >> 8 & 0xff);
        const size_t index = self->m_flowsOf[host][peer.GetPort() - PinnedRouting::FIRST_SENDER_PORT];
        socket->SetRecvCallback(ns3::MakeBoundCallback(&Applications::Receive, self, index));
        socket->SetCloseCallbacks(ns3::MakeCallback(&Applications::PeerClosed),
                                  ns3::MakeNullCallback<void, Socket>());
    }

    static void Receive(Applications* self, size_t index, Socket socket)
    {
        Flow& flow = self->m_flows[index];
        while (ns3::Ptr<ns3::Packet> packet = socket->Recv())
        {
            flow.received += packet->GetSize();
        }
        if (flow.received == flow.sizeBytes && flow.fctPs < 0)
        {
            flow.fctPs = (ns3::Simulator::Now() - ns3::NanoSeconds(flow.startNs)).GetPicoSeconds();
            if (++self->m_finished == self->m_flows.size())
            {
                ns3::Simulator::Stop();
            }
        }
    }

    static void PeerClosed(Socket socket)
    {
        socket->Close();
    }

    static void StateChanged(Flow* flow,
                             ns3::TcpSocketState::TcpCongState_t,
                             ns3::TcpSocketState::TcpCongState_t now)
    {
        flow->timeouts += now == ns3::TcpSocketState::CA_LOSS;
        flow->recoveries += now == ns3::TcpSocketState::CA_RECOVERY;
    }

    const LeafSpine& m_fabric;
    const FabricSettings& m_settings;
    uint32_t m_segmentBytes;
    uint32_t m_bufferBytes = 0;
    std::vector<Flow>& m_flows;
    std::vector<std::vector<size_t>> m_flowsOf;  ///< By host, in the order of their ports.
    std::vector<Socket> m_listening;
    size_t m_finished = 0;
};
