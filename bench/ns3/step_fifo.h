// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#pragma once

#include "ns3/drop-tail-queue.h"
#include "ns3/net-device.h"
#include "ns3/queue-disc.h"

/// A FIFO that drops at its end and marks by DCTCP's step (RFC 8257 section 3.1), both decided by the backlog that an
/// arriving packet finds at the port.
///
/// ns-3 keeps a port's packets in three places: this queue disc, the device's own queue (one packet here, the least it
/// allows), and the packet in service, which is in neither. Packets wait in the disc only while the other two places
/// are taken, so what a packet finds is the disc's length plus two. Whether an otherwise empty port serves a packet
/// cannot be asked; limits below two packets are therefore refused.
class StepFifo : public ns3::QueueDisc
{
  public:
    static constexpr uint32_t PPP_BYTES = 2;

    static ns3::TypeId GetTypeId()
    {
        static ns3::TypeId tid =
            ns3::TypeId("StepFifo").SetParent<ns3::QueueDisc>().AddConstructor<StepFifo>();
        return tid;
    }

    StepFifo()
        : QueueDisc(ns3::QueueDiscSizePolicy::NO_LIMITS)
    {
    }

    /// Limits on the backlog, the packet in service included: packets and bytes of room, packets that mark.
    void Configure(ns3::Ptr<ns3::Queue<ns3::Packet>> device, uint32_t packets, uint64_t bytes, uint32_t markAt)
    {
        m_device = device;
        m_roomPackets = packets;
        m_roomBytes = bytes;
        m_markAt = markAt;
    }

    uint64_t Dropped() const
    {
        return m_dropped;
    }

    uint64_t Marked() const
    {
        return m_marked;
    }

  private:
    bool DoEnqueue(ns3::Ptr<ns3::QueueDiscItem> item) override
    {
        const bool busy = !m_device->IsEmpty();
        const uint32_t packets = GetNPackets() + (busy ? 2 : 0);
        const uint64_t bytes = GetNBytes() + uint64_t{GetNPackets()} * PPP_BYTES +
                               (busy ? m_lastBytes + m_lastButOneBytes : 0);
        if (packets + 1 > m_roomPackets || bytes + item->GetSize() + PPP_BYTES > m_roomBytes)
        {
            ++m_dropped;
            DropBeforeEnqueue(item, "backlog at its limit");
            return false;
        }
        if (packets >= m_markAt && item->Mark())
        {
            ++m_marked;
        }
        return GetInternalQueue(0)->Enqueue(item);
    }

    ns3::Ptr<ns3::QueueDiscItem> DoDequeue() override
    {
        ns3::Ptr<ns3::QueueDiscItem> item = GetInternalQueue(0)->Dequeue();
        if (item)
        {
            m_lastButOneBytes = m_lastBytes;
            m_lastBytes = item->GetSize() + PPP_BYTES;
        }
        return item;
    }

    bool CheckConfig() override
    {
        if (GetNInternalQueues() == 0)
        {
            auto queue = ns3::CreateObject<ns3::DropTailQueue<ns3::QueueDiscItem>>();
            queue->SetMaxSize(ns3::QueueSize(ns3::QueueSizeUnit::PACKETS, UINT32_MAX));
            AddInternalQueue(queue);
        }
        return GetNQueueDiscClasses() == 0 && GetNPacketFilters() == 0 && m_device && m_roomPackets >= 2 &&
               m_markAt >= 2;
    }

    void InitializeParams() override
    {
    }

    ns3::Ptr<ns3::Queue<ns3::Packet>> m_device;
    uint32_t m_roomPackets = 0;
    uint64_t m_roomBytes = 0;
    uint32_t m_markAt = 0;
    uint32_t m_lastBytes = 0;
    uint32_t m_lastButOneBytes = 0;
    uint64_t m_dropped = 0;
    uint64_t m_marked = 0;
};
