#include "dump/write/folder/existing_dump.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/file/file.h"
#include "base/text/text.h"
#include "dump/operator_log.h"
#include "dump/read/files/file_kind.h"
#include "dump/read/tree_location.h"
#include "dump/status_file.h"
#include "dump/write/arguments_file.h"
#include "dump/write/step_directories.h"
#include "format/tables/fingerprints.h"
#include "format/tables/mapping_csv.h"
#include "format/tables/statistic_csv.h"

namespace opdump::dump {
namespace {

namespace fs = std::filesystem;

bool is_index(std::string_view name) { return parse_uint64(name).has_value(); }

// The entries of a directory that is held open.
struct Entries {
  std::vector<std::string> files, directories;  // regular ones, and no links
};

Result<Entries> list(const Fd& directory, const fs::path& path) {
  // The stream has a descriptor and a position of its own.
  const int own = ::openat(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(own < 0 ? nullptr : ::fdopendir(own), ::closedir);
  if (!stream) return io_error(path, "list");
  Entries entries;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string name = entry->d_name;
    struct stat info {};
    if (name == "." || name == ".." ||
        ::fstatat(directory.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    if (S_ISREG(info.st_mode)) entries.files.push_back(name);
    if (S_ISDIR(info.st_mode)) entries.directories.push_back(name);
  }
  return entries;
}

// A directory below another one, reached without following a link; empty if there is none.
Fd open_inside(const Fd& top, const fs::path& relative) {
  Fd directory;
  for (const fs::path& name : relative) {
    directory = Fd(::openat(directory ? directory.get() : top.get(), name.c_str(),
                            O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!directory) break;
  }
  return directory;
}

// What a directory of a dump holds: which files are the dump's own, and which directories lead on.
struct TreeLevel {
  std::function<bool(std::string_view name, const Entries& beside)> is_file;
  std::function<const TreeLevel*(std::string_view name)> below;  // null: not a directory of the dump
};

bool is_step_file(std::string_view name, const Entries& beside) {
  if (name == format::kStatisticCsvName || name == format::kMappingCsvName) return true;
  if (name.ends_with(kNpyExtension) && parse_file_name(name)) return true;
  if (is_arguments_file_name(name)) return true;
  if (find_call_name(name) || parse_call_name(without_csv(name))) return true;
  const bool has_mapping = std::ranges::find(beside.files, format::kMappingCsvName) != beside.files.end();
  const std::string_view stem = name.ends_with(kNpyExtension) ? name.substr(0, name.size() - 4) : name;
  return has_mapping && is_index(stem);
}

// name.tmp123, which a process that was killed left.
std::string_view without_temporary_end(std::string_view name) {
  const std::size_t at = name.rfind(".tmp");
  return at != std::string_view::npos && is_index(name.substr(at + 4)) ? name.substr(0, at) : name;
}

bool is_file_of_rank(std::string_view name, const Entries&) {
  name = without_temporary_end(name);
  return is_status_file_name(name) || name == kOperatorLogName || name == format::kFingerprintsName;
}

bool no_file(std::string_view, const Entries&) { return false; }
const TreeLevel* nothing_below(std::string_view) { return nullptr; }

const TreeLevel kStep{is_step_file, nothing_below};
// {graph}/{step}; in the trees of times the graph may be the last.
const TreeLevel kGraph{is_step_file, [](std::string_view name) {
                         return is_index(name) || name == "constants" ? &kStep : nullptr;
                       }};
const TreeLevel kNet{no_file, [](std::string_view name) { return is_index(name) ? &kGraph : nullptr; }};
const TreeLevel kGraphFiles{[](std::string_view name, const Entries&) { return name.starts_with("ms_"); },
                            nothing_below};
const TreeLevel kMetadata{
    [](std::string_view name, const Entries&) { return name == "data_dump.json" || name == "config.json"; },
    nothing_below};
const TreeLevel kRank{is_file_of_rank, [](std::string_view name) {
                        if (name == "graphs" || name == "execution_order") return &kGraphFiles;
                        return name == ".dump_metadata" ? &kMetadata : &kNet;
                      }};
const TreeLevel kDevice{is_step_file, [](std::string_view) { return &kNet; }};

// What becomes of a dump's file `name` in an open directory: false, and errno, if it could not be done.
using Take = std::function<bool(const Fd& directory, const fs::path& path, const std::string& name)>;

bool unlink_file(const Fd& directory, const fs::path&, const std::string& name) {
  return ::unlinkat(directory.get(), name.c_str(), 0) == 0;
}

// Takes away what `level` knows of a directory. Errors: io.
Result<> clean(const Fd& directory, const fs::path& path, const TreeLevel& level, const Take& take) {
  OPDUMP_TRY(const Entries entries, list(directory, path));
  for (const std::string& name : entries.files)
    if (level.is_file(name, entries) && !take(directory, path, name) && errno != ENOENT)
      return io_error(path / name, "remove");
  for (const std::string& name : entries.directories) {
    const TreeLevel* const below = level.below(name);
    if (below == nullptr) continue;
    const Fd inner = open_inside(directory, name);
    if (!inner && errno == ENOENT) continue;
    if (!inner) return io_error(path / name, "open directory");
    OPDUMP_CHECK_OK(clean(inner, path / name, *below, take));
    ::unlinkat(directory.get(), name.c_str(), AT_REMOVEDIR);  // unless there is something that is not ours
  }
  return ok();
}

// The directories of times in a root: {time} and {step}/{time}.
std::vector<fs::path> time_directories(const Fd& root, const fs::path& path) {
  std::vector<fs::path> found;
  const auto entries = list(root, path);
  if (!entries) return found;
  for (const std::string& name : entries->directories) {
    if (is_time(name)) found.emplace_back(name);
    if (!is_index(name)) continue;
    const Fd step = open_inside(root, name);
    const auto inner = step ? list(step, path / name) : Entries();
    for (const std::string& time : inner ? inner->directories : std::vector<std::string>())
      if (is_time(time)) found.push_back(fs::path(name) / time);
  }
  return found;
}

// The directories of devices in the part, below the root.
std::vector<fs::path> device_directories(const Fd& root, const FolderPart& part) {
  std::vector<fs::path> parents = time_directories(root, part.root);
  parents.push_back("extra-info/data-dump");
  std::vector<fs::path> found;
  for (const fs::path& parent : parents) {
    const Fd opened = open_inside(root, parent);
    const auto devices = opened ? list(opened, part.root / parent) : Entries();
    if (!devices) continue;
    for (const std::string& device : devices->directories)
      if (is_index(device) && (!part.device || device == std::to_string(*part.device)))
        found.push_back(parent / device);
  }
  return found;
}

std::vector<std::uint32_t> ranks_of(const Fd& root, const fs::path& path) {
  std::vector<std::uint32_t> ranks;
  const auto entries = list(root, path);
  for (const std::string& name : entries ? entries->directories : std::vector<std::string>())
    if (const auto rank = find_rank(name)) ranks.push_back(*rank);
  return ranks;
}

Fd open_folder(const fs::path& path) { return Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)); }

bool is_of_run(const fs::path& rank_directory, std::string_view run_id) {
  return !run_id.empty() && std::ranges::any_of(list_statuses(rank_directory), [&](const StatusFile& file) {
    return file.status && file.status->run_id == run_id;
  });
}

bool is_empty_rank(const fs::path& rank_directory) {
  const Fd directory = open_folder(rank_directory);
  const auto entries = directory ? list(directory, rank_directory) : Entries();
  return entries && entries->directories.empty() &&
         std::ranges::none_of(entries->files,
                              [&](const std::string& name) { return is_file_of_rank(name, *entries); });
}

// The directories of times that processes of the run record into.
std::set<std::string> times_of_run(const Fd& root, const fs::path& path, std::string_view run_id) {
  std::set<std::string> times;
  for (const std::uint32_t rank : ranks_of(root, path))
    for (const StatusFile& file : list_statuses(rank_directory(path, rank)))
      if (file.status && !run_id.empty() && file.status->run_id == run_id)
        times.insert(file.status->time_directory);
  return times;
}

// Takes away the dumps in the part, and the directories that are empty then. Errors: io.
Result<> take_dump(const FolderPart& part, const Take& take) {
  const Fd root = open_folder(part.root);
  if (!root) return errno == ENOENT ? ok() : Result<>(io_error(part.root, "open directory"));
  for (const std::uint32_t rank : ranks_of(root, part.root)) {
    if (part.rank.value_or(rank) != rank) continue;
    const fs::path path = rank_directory(part.root, rank);
    const Fd directory = open_inside(root, path.filename());
    if (!directory) return io_error(path, "open directory");
    OPDUMP_CHECK_OK(clean(directory, path, kRank, take));
  }
  for (const fs::path& device : device_directories(root, part)) {
    const Fd directory = open_inside(root, device);
    if (!directory) return io_error(part.root / device, "open directory");
    OPDUMP_CHECK_OK(clean(directory, part.root / device, kDevice, take));
    for (fs::path empty = device; !empty.empty(); empty = empty.parent_path())
      if (::unlinkat(root.get(), empty.c_str(), AT_REMOVEDIR) != 0) break;
    const std::string scene = "acl_dump_" + device.filename().string() + ".json";
    struct stat info {};
    if (::fstatat(root.get(), scene.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode))
      take(root, part.root, scene);
  }
  return ok();
}

// Names the place where the dumps in a part wait for the recording that replaces them.
fs::path waiting_place(const FolderPart& part) {
  return part.root / (".opdump_replaced" + (part.rank ? "_" + std::to_string(*part.rank) : std::string()));
}

}  // namespace

std::optional<Existing> parse_existing(std::string_view text) {
  if (text == "refuse") return Existing::refuse;
  if (text == "replace") return Existing::replace;
  if (text == "append") return Existing::append;
  return std::nullopt;
}

std::optional<fs::path> find_dump(const FolderPart& part, std::string_view run_id) {
  const Fd root = open_folder(part.root);
  if (!root) return std::nullopt;
  for (const std::uint32_t rank : ranks_of(root, part.root)) {
    const fs::path directory = rank_directory(part.root, rank);
    if (part.rank.value_or(rank) == rank && !is_empty_rank(directory) && !is_of_run(directory, run_id))
      return directory;
  }
  const std::set<std::string> own = times_of_run(root, part.root, run_id);
  for (const fs::path& device : device_directories(root, part))
    if (!own.contains(device.parent_path().filename())) return part.root / device;
  return std::nullopt;
}

Result<> remove_dump(const FolderPart& part) { return take_dump(part, unlink_file); }

Result<std::uint64_t> put_dump_aside(const FolderPart& part) {
  std::error_code ignored;
  const fs::path place = waiting_place(part);
  fs::remove_all(place, ignored);  // of a run that was killed
  std::uint64_t bytes = 0;
  OPDUMP_CHECK_OK(take_dump(part, [&](const Fd& directory, const fs::path& path, const std::string& name) {
    struct stat info {};
    if (::fstatat(directory.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return false;
    const fs::path target = place / path.lexically_relative(part.root);
    if (!make_directories(target, 0700)) return false;
    if (::renameat(directory.get(), name.c_str(), AT_FDCWD, (target / name).c_str()) != 0) return false;
    if (info.st_nlink == 1) bytes += static_cast<std::uint64_t>(info.st_blocks) * 512;
    return true;
  }));
  return bytes;
}

Result<> put_dump_back(const FolderPart& part) {
  const fs::path place = waiting_place(part);
  std::error_code failed;
  for (fs::recursive_directory_iterator entry(place, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    if (entry->is_directory(failed)) continue;
    const fs::path target = part.root / entry->path().lexically_relative(place);
    OPDUMP_CHECK_OK(make_directories(target.parent_path(), 0700));
    if (::rename(entry->path().c_str(), target.c_str()) != 0) return io_error(target, "put back");
  }
  fs::remove_all(place, failed);
  return ok();
}

void discard_dump_aside(const FolderPart& part) {
  std::error_code ignored;
  fs::remove_all(waiting_place(part), ignored);
  fs::remove_all(waiting_place({part.root, {}, {}}), ignored);
}

bool has_dump_aside(const FolderPart& part) {
  std::error_code ignored;
  return fs::exists(waiting_place(part), ignored);
}

Error dump_exists(const fs::path& found) {
  return refusal(found.string() +
                 ": has a dump already: replace it (--force, existing=\"replace\"), add to it (--append, "
                 "existing=\"append\") or record into another folder");
}

Error refusal(std::string text) { return Error(Code::usage, std::move(text)).with_number(EEXIST); }

bool is_refusal(const Error& error) { return error.code() == Code::usage && error.number() == EEXIST; }

}  // namespace opdump::dump
