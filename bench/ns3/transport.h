// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#pragma once

#include "own_round_cubic.h"

#include "ns3/boolean.h"
#include "ns3/config.h"
#include "ns3/double.h"
#include "ns3/nstime.h"
#include "ns3/string.h"
#include "ns3/type-id.h"
#include "ns3/uinteger.h"

#include <cstdint>
#include <stdexcept>
#include <string>

/// TCP's settings: every one that its defaults would decide silently.
struct Transport
{
    std::string control = "dctcp";
    bool sack = true;
    std::string recovery = "prr";
    bool limitedTransmit = true;
    uint32_t dupAckThreshold = 3;
    bool timestamps = false;
    uint32_t initialWindow = 10;
    uint32_t mssBytes = 1448;
    uint32_t ackEvery = 1;
    double ackDelayUs = 1000;
    double rtoMinUs = 5000;
    double rtoInitialUs = 5000;
    double clockGranularityUs = 1;
    uint32_t windowMaxBytes = 6u << 20;
    double dctcpGain = 1.0 / 16;
    double dctcpAlphaInitial = 1;
    bool hystart = true;

    /// Makes them ns-3's defaults; sockets made later have them.
    void Apply() const
    {
        using namespace ns3;
        const auto type = [](const std::string& name) { return TypeIdValue(TypeId::LookupByName(name)); };
        const auto time = [](double us) { return TimeValue(NanoSeconds(static_cast<uint64_t>(us * 1e3 + 0.5))); };
        const std::string controls[][2] = {
            {"dctcp", "ns3::TcpDctcp"}, {"linux-reno", "ns3::TcpLinuxReno"},
            {"newreno", "ns3::TcpNewReno"}, {"cubic", "ns3::TcpCubic"},
            {"own-round-cubic", OwnRoundCubic::GetTypeId().GetName()}};
        std::string control_type;
        for (const auto& pair : controls)
        {
            control_type = pair[0] == control ? pair[1] : control_type;
        }
        if (control_type.empty() || (recovery != "classic" && recovery != "prr"))
        {
            throw std::runtime_error("--control is dctcp, linux-reno, newreno, cubic or own-round-cubic; --recovery is "
                                     "classic or prr");
        }
        Config::SetDefault("ns3::TcpL4Protocol::SocketType", type(control_type));
        Config::SetDefault("ns3::TcpL4Protocol::RecoveryType",
                           type(recovery == "prr" ? "ns3::TcpPrrRecovery" : "ns3::TcpClassicRecovery"));
        Config::SetDefault("ns3::TcpL4Protocol::RttEstimatorType", type("ns3::RttMeanDeviation"));
        Config::SetDefault("ns3::RttMeanDeviation::Alpha", DoubleValue(1.0 / 8));
        Config::SetDefault("ns3::RttMeanDeviation::Beta", DoubleValue(1.0 / 4));
        Config::SetDefault("ns3::RttEstimator::InitialEstimation", time(rtoInitialUs));

        Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(mssBytes));
        Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(initialWindow));
        Config::SetDefault("ns3::TcpSocket::InitialSlowStartThreshold", UintegerValue(UINT32_MAX));
        // The window is bounded by the sender's buffer. Bounded by the receiver's, ns-3.37 dies of a segment of no
        // bytes (TcpRateLinux::SkbSent without a segment); 3.44 does not.
        Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(windowMaxBytes));
        Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1u << 29));
        Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(ackEvery));
        Config::SetDefault("ns3::TcpSocket::DelAckTimeout", time(ackDelayUs));
        Config::SetDefault("ns3::TcpSocket::TcpNoDelay", BooleanValue(true));
        Config::SetDefault("ns3::TcpSocket::ConnTimeout", time(rtoInitialUs));
        // Never give up: a flow that dies would leave the sums.
        Config::SetDefault("ns3::TcpSocket::ConnCount", UintegerValue(1000));
        Config::SetDefault("ns3::TcpSocket::DataRetries", UintegerValue(1000));

        Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(sack));
        Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(timestamps));
        Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(true));
        Config::SetDefault("ns3::TcpSocketBase::MaxWindowSize", UintegerValue(65535));
        Config::SetDefault("ns3::TcpSocketBase::MinRto", time(rtoMinUs));
        Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", time(clockGranularityUs));
        Config::SetDefault("ns3::TcpSocketBase::ReTxThreshold", UintegerValue(dupAckThreshold));
        Config::SetDefault("ns3::TcpSocketBase::LimitedTransmit", BooleanValue(limitedTransmit));
        Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue(control == "dctcp" ? "On" : "Off"));
        // Ends of closed connections leave the table, which ns-3 searches from its start for each packet.
        Config::SetDefault("ns3::TcpSocketBase::MaxSegLifetime", DoubleValue(0.001));

        Config::SetDefault("ns3::TcpDctcp::DctcpShiftG", DoubleValue(dctcpGain));
        Config::SetDefault("ns3::TcpDctcp::DctcpAlphaOnInit", DoubleValue(dctcpAlphaInitial));
        Config::SetDefault("ns3::TcpDctcp::UseEct0", BooleanValue(true));
        Config::SetDefault("ns3::TcpCubic::HyStart", BooleanValue(hystart));
    }
};
