#include "base/process/launcher.h"

#include <cstdlib>
#include <initializer_list>
#include <string>

#include "base/text/text.h"

namespace opdump {
namespace {

Result<std::optional<std::uint32_t>> find_number(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const char* text = std::getenv(name);
    if (!text || !*text) continue;
    const auto number = parse_int64(text);
    if (!number || *number < 0 || *number > INT32_MAX)
      return Error(Code::config, std::string(name) + " is '" + text +
                                     "' in the environment; expected a number from 0 to " +
                                     std::to_string(INT32_MAX));
    return std::optional(static_cast<std::uint32_t>(*number));
  }
  return std::optional<std::uint32_t>();
}

}  // namespace

Result<std::optional<std::uint32_t>> find_launched_rank() {
  // The first is ours: of a process that the program started itself, and its group has told the rank.
  return find_number({"OPDUMP_RANK", "RANK_ID", "RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"});
}

Result<std::optional<std::uint32_t>> find_launched_device() {
  return find_number({"DEVICE_ID", "LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"});
}

}  // namespace opdump
