#include "cli/record/golden_data.h"

#include <cstdlib>
#include <system_error>

#include "base/file/file.h"
#include "base/text/text.h"
#include "cli/verb.h"

namespace opdump::cli {
namespace {

namespace fs = std::filesystem;

// Beside its configuration a recording has a directory for each rank.
bool has_recording(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (entry->is_directory(error)) return true;
  return false;
}

}  // namespace

Result<GoldenData> GoldenData::begin(RecordingArguments& arguments) {
  GoldenData data;
  if (arguments.golden.empty()) return data;
  dialect::Request& request = arguments.request;
  if (!request.output.empty() || !arguments.config.empty() || request.statistics)
    return Error(Code::usage,
                 "--golden excludes -o, --config and --stats: it writes golden data, and no dump");
  if (!request.steps.empty() && !is_digits(request.steps))
    return Error(Code::usage, "--steps: golden data is of one step; expected its number");
  data.folder_ = arguments.golden;
  std::error_code error;
  data.is_new_ = !fs::exists(data.folder_, error);
  OPDUMP_CHECK_OK(make_directories(data.folder_, 0777));
  std::string place = (data.folder_ / ".recording-XXXXXX").string();
  if (!::mkdtemp(place.data())) return io_error(data.folder_, "create a folder in");
  data.recording_ = place;
  request.output = place;
  ::setenv("OPDUMP_GOLDEN", "1", 1);  // for the adapter: run_environment.h
  return data;
}

Result<int> GoldenData::finish() const {
  if (folder_.empty()) return 0;
  if (!has_recording(recording_)) return static_cast<int>(Exit::incomplete);  // which has been reported
  const std::string from = recording_.string(), to = folder_.string();
  const char* const words[] = {from.c_str(), "-o", to.c_str(), "--to", "golden"};
  Result<int> status = run_convert(words);
  if (!status)
    return Error(status.error().code(), status.error().message() + " (the recording is in " + from + ")");
  discard();
  return status;
}

GoldenData::~GoldenData() {
  if (!recording_.empty() && !has_recording(recording_)) discard();
}

void GoldenData::discard() const {
  std::error_code error;
  fs::remove_all(recording_, error);
  if (is_new_) fs::remove(folder_, error);  // fails if it has files
}

}  // namespace opdump::cli
