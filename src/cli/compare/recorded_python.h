// The Python that recorded a dump, and whether it may be started.
#pragma once

#include <optional>
#include <string>

#include "dump/read/dump_set.h"

namespace opdump::cli {

struct RecordedPython {
  std::string path;
  std::string torch;  // its version then, "2.15.0"; empty if that is not known
};

// Nothing if another program recorded it.
std::optional<RecordedPython> recorded_python(const dump::DumpSet& dump);

// The version of torch of the recorded program, which may be none of Python; empty if it had none.
std::string recorded_torch(const dump::DumpSet& dump);

// Whether this user has recorded with it on this machine. Only then it may be started, because a dump comes
// from anywhere and names what it likes: the recorder keeps the list in the user's cache
// (python/opdump/_building.py).
bool has_recorded_here(const std::string& python);

}  // namespace opdump::cli
