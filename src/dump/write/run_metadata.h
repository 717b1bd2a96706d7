// {rank_dir}/.dump_metadata, mindspore.md 2.8: how viewers of the original learn what was asked for, and of
// which kind of device.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/result.h"

namespace opdump::dump {

// Writes data_dump.json, a copy of `config_text`, and config.json, unless there is one. `device_target`:
// "CPU", "GPU". Directory 0700, files 0400. Errors: io.
Result<> write_run_metadata(const std::filesystem::path& rank_directory, std::string_view config_text,
                            std::string_view device_target);

}  // namespace opdump::dump
