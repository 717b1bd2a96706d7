// Which of several processes this one is, as launchers (mpirun, torchrun, Slurm) say in the environment.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"

namespace opdump {

// The rank: the first that is set of RANK_ID, RANK, OMPI_COMM_WORLD_RANK, SLURM_PROCID; nothing if none is.
// Errors: config, for what is no number from 0 to INT32_MAX.
Result<std::optional<std::uint32_t>> find_launched_rank();

// The device: DEVICE_ID, LOCAL_RANK, OMPI_COMM_WORLD_LOCAL_RANK, SLURM_LOCALID. Errors: as above.
Result<std::optional<std::uint32_t>> find_launched_device();

}  // namespace opdump
