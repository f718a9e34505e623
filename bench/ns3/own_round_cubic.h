// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#pragma once

#include "ns3/tcp-cubic.h"

/// ns-3's CUBIC, whose HyStart begins a round before it looks for a train of acknowledgements.
///
/// `TcpCubic` looks for a train first: the acknowledgement that opens a round is measured from the start of the round
/// before it. Where acknowledgements are less than 2 ms apart, it ends slow start if that round trip took longer than
/// the shortest one. Linux looked in that order too until commit 4e1fddc98d25 (2021).
class OwnRoundCubic : public ns3::TcpCubic
{
  public:
    static ns3::TypeId GetTypeId()
    {
        static ns3::TypeId tid =
            ns3::TypeId("OwnRoundCubic").SetParent<ns3::TcpCubic>().AddConstructor<OwnRoundCubic>();
        return tid;
    }

    std::string GetName() const override
    {
        return "OwnRoundCubic";
    }

    void PktsAcked(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t segmentsAcked, const ns3::Time& rtt) override
    {
        if (tcb->m_cWnd < tcb->m_ssThresh)
        {
            // In slow start, growth by no segment begins the round where one is due and leaves the window as it is.
            TcpCubic::IncreaseWindow(tcb, 0);
        }
        TcpCubic::PktsAcked(tcb, segmentsAcked, rtt);
    }

    ns3::Ptr<ns3::TcpCongestionOps> Fork() override
    {
        return ns3::CopyObject<OwnRoundCubic>(this);
    }
};
