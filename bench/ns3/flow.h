// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#pragma once

#include <cstdint>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

/// One flow, as the list gives it and as it went.
struct Flow
{
    uint64_t id;
    uint32_t src;        ///< Host, numbered leaf by leaf.
    uint32_t dst;        ///< Host on another leaf.
    uint64_t sizeBytes;  ///< Payload.
    uint64_t startNs;    ///< When the sender calls connect().
    uint32_t path;       ///< Spine that carries its segments and their acknowledgements.

    int64_t fctPs = -1;  ///< From connect() to the last byte's arrival, in order, at the receiving application.
    uint64_t written = 0;
    uint64_t received = 0;
    uint32_t timeouts = 0;
    uint32_t recoveries = 0;
};

/// Reads `id,src,dst,size_bytes,start_ns,path`; the error names the line.
inline std::vector<Flow>
readFlows(const std::string& file, uint32_t hosts, uint32_t hostsPerLeaf, uint32_t spines)
{
    std::ifstream in(file);
    std::string line;
    if (!std::getline(in, line) || line != "id,src,dst,size_bytes,start_ns,path")
    {
        throw std::runtime_error(file + ":1: the header must read id,src,dst,size_bytes,start_ns,path");
    }
    std::vector<Flow> flows;
    for (uint64_t number = 2; std::getline(in, line); ++number)
    {
        std::istringstream row(line);
        Flow flow{};
        char comma[5];
        row >> flow.id >> comma[0] >> flow.src >> comma[1] >> flow.dst >> comma[2] >> flow.sizeBytes >>
            comma[3] >> flow.startNs >> comma[4] >> flow.path;
        const bool possible = row && flow.src < hosts && flow.dst < hosts && flow.path < spines &&
                              flow.sizeBytes > 0 && flow.src / hostsPerLeaf != flow.dst / hostsPerLeaf;
        if (!possible)
        {
            throw std::runtime_error(file + ":" + std::to_string(number) + ": '" + line +
                                     "' is no flow between two leaves of this fabric");
        }
        flows.push_back(flow);
    }
    return flows;
}
