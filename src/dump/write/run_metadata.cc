#include "dump/write/run_metadata.h"

#include <string>
#include <system_error>

#include "base/file/file.h"
#include "base/file/file_replacement.h"

namespace opdump::dump {
namespace {

// Whose scheme the tree follows; readers refuse what they do not know.
constexpr std::string_view kMindsporeVersion = "2.5.0";

}  // namespace

Result<> write_run_metadata(const std::filesystem::path& rank_directory, std::string_view config_text,
                            std::string_view device_target) {
  const std::filesystem::path directory = rank_directory / ".dump_metadata";
  OPDUMP_CHECK_OK(make_directories(directory, 0700));
  OPDUMP_CHECK_OK(write_file_atomic(directory / "data_dump.json", config_text, 0400));
  std::error_code ignored;
  const std::filesystem::path config = directory / "config.json";
  if (std::filesystem::exists(config, ignored)) return ok();
  std::string text = "{\"device_target\":\"";
  text.append(device_target).append("\",\"ms_version\":\"").append(kMindsporeVersion).append("\"}");
  return write_file_atomic(config, text, 0400);
}

}  // namespace opdump::dump
