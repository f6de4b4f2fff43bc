// NCCL over TCP sockets: NCCL_NET=Socket, or NCCL_IB_DISABLE=1 where NCCL drives the NICs itself.
//
// Models: NICs reach no GPU's memory, so that data pass the CPUs' (and neither PXN nor LL128 is
// there); a step between nodes takes the kernel's path through TCP besides; each GPU's proxy copies
// what it sends at a thread's rate, NCCL_SOCKET_NTHREADS threads at as many times that. Rings and
// trees use the proxy of one GPU at each NIC, messages those of all GPUs. Sockets of a thread
// (NCCL_NSOCKS_PERTHREAD) share its time.
// Assumes a thread for each proxy where nothing is set; NCCL takes two on AWS and four on Google's
// machines. Leaves out TCP's congestion control.
// Source: Sirius (ALCF), 2 nodes with Slingshot but without its plugin (github.com/argonne-lcf/
// alcf-nccl-tests): an all-reduce of 8 bytes takes 26 us more than with it, two steps; all-gather,
// all-reduce and all-to-all of 1 GiB send 1.5, 1.7 and 1.4 GB/s a proxy. Certain to a fifth.
#pragma once

#include "models/nccl/environment.hpp"
#include "models/nccl/machine.hpp"

namespace shardsim::nccl {

inline constexpr double socket_step_us = 13;
inline constexpr double socket_thread_gbps = 1.6;

/// `by_verbs`: NCCL drives the NICs itself, without a plugin.
bool uses_sockets(const Environment& environment, bool by_verbs);

/// GB/s that one proxy sends.
double socket_gbps(const Environment& environment);

/// No NIC of the machine reaches a GPU's memory.
void keep_from_gpu_memory(Machine& machine);

}  // namespace shardsim::nccl
