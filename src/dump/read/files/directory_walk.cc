#include "dump/read/files/directory_walk.h"

#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/text/text.h"
#include "dump/read/files/file_kind.h"
#include "dump/tensor_names.h"
#include "format/tables/mapping_csv.h"

namespace opdump::dump {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMaxWalkDepth = 32;  // of directories below what was opened

// What a process that started the ranks of a dump recorded beside them; a dump of its own. See
// python/opdump/_torch/ranks.py.
constexpr std::string_view kBesideRanks = "opdump_parent";

// The names of the directories in `directory`, as far as it can be listed. Links are none.
std::set<std::string> directories_in(const fs::path& directory) {
  std::set<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator at(directory, failed); !failed && at != fs::directory_iterator();
       at.increment(failed)) {
    std::error_code unknown;
    if (!at->is_symlink(unknown) && at->is_directory(unknown)) names.insert(at->path().filename().string());
  }
  return names;
}

}  // namespace

// A directory inside a tree is recognised by the names above it, and belongs to the rank above it.
Result<DirectoryWalk> DirectoryWalk::begin(const fs::path& path) {
  std::error_code failed;
  const fs::path whole = fs::canonical(path, failed);
  if (failed) {
    const bool missing =
        failed == std::errc::no_such_file_or_directory || failed == std::errc::not_a_directory;
    return Error(missing ? Code::not_found : Code::io, path.string() + ": " + failed.message());
  }
  DirectoryWalk walk;
  walk.path_ = path;
  walk.is_file_ = fs::is_regular_file(whole, failed);
  if (!walk.is_file_ && !fs::is_directory(whole, failed))
    return Error(Code::not_found, path.string() + ": neither a directory nor a file; expected a dump");
  for (const fs::path& part : walk.is_file_ ? whole.parent_path().relative_path() : whole.relative_path())
    walk.trail_.push_back(part.string());
  walk.first_inside_ = walk.trail_.size();
  fs::path ancestor = whole;
  for (std::size_t up = 0; up < kMaxTreeDepth && ancestor.has_relative_path();
       ++up, ancestor = ancestor.parent_path()) {
    if (const auto rank = find_rank(ancestor.filename().string())) {
      walk.ranks_[*rank] = ancestor;
      break;
    }
  }
  return walk;
}

Result<> DirectoryWalk::run(Problems& problems, const Visit& visit) {
  problems_ = &problems;
  visit_ = &visit;
  if (!is_file_) return walk(path_, 0);
  visit_file_alone();
  return ok();
}

// Errors: io -- `directory` cannot be listed.
Result<> DirectoryWalk::walk(const fs::path& directory, std::size_t depth) {
  Subdirectories inside;
  auto listed = visit_files_in(directory, inside);
  leave_out_older(directory, inside.times);
  const bool is_only_run = inside.names.size() == 1 && is_tagged_run(*inside.names.begin());
  if (is_only_run) unnamed_ = trail_.size();
  for (const std::string& name : inside.names) {
    const fs::path path = directory / name;
    if (older_.contains(path)) continue;
    if (const auto rank = find_rank(name)) ranks_.try_emplace(*rank, path);
    if (depth == kMaxWalkDepth) {
      problems_->push_back({path, "deeper than any dump; not looked into"});
      continue;
    }
    trail_.push_back(name);
    if (auto done = walk(path, depth + 1); !done) problems_->push_back({path, done.error().message()});
    trail_.pop_back();
  }
  return listed;
}

Result<> DirectoryWalk::visit_files_in(const fs::path& directory, Subdirectories& inside) {
  std::error_code failed;
  StepFiles files;
  files.directory = directory;
  fs::directory_iterator entries(directory, failed);
  for (; !failed && entries != fs::directory_iterator(); entries.increment(failed))
    add_entry(*entries, files, inside);
  if (files.names.have_msprobe())
    inside.names.erase(std::string(kMsprobeData));  // dump.json names what is there
  if (files.names.have_dump_file()) visit(std::move(files));
  if (failed) return Error(Code::io, directory.string() + ": " + failed.message());
  return ok();
}

void DirectoryWalk::add_entry(const fs::directory_entry& entry, StepFiles& files, Subdirectories& inside) {
  std::error_code failed;
  std::string name = entry.path().filename().string();
  // This order needs no look-up: the directory itself has the types.
  if (entry.is_symlink(failed)) {
    problems_->push_back({entry.path(), "symbolic link; links inside a dump are not followed"});
  } else if (entry.is_directory(failed)) {
    if (name.starts_with(kBesideRanks)) return;
    if (is_time(name)) inside.times.insert(name);
    inside.names.insert(std::move(name));
  } else if (entry.is_regular_file(failed)) {
    files.names.add(name, is_debug_mode_file(entry.path()));
  }
}

void DirectoryWalk::leave_out_older(const fs::path& directory, const std::set<std::string>& times) {
  if (times.size() < 2) return;
  std::map<fs::path, fs::path> last;  // by {device}/{net}
  for (const std::string& time : times) {
    for (const std::string& device : directories_in(directory / time))
      for (const std::string& net : directories_in(directory / time / device)) {
        const fs::path path = directory / time / device / net;
        const auto [known, is_new] = last.try_emplace(fs::path(device) / net, path);
        if (!is_new) older_.insert(std::exchange(known->second, path));
      }
  }
}

// A file that the user has named, be it a link.
void DirectoryWalk::visit_file_alone() {
  StepFiles files;
  files.directory = path_.parent_path();
  files.names.add(path_.filename().string());
  files.is_alone = true;
  std::error_code failed;
  if (fs::is_regular_file(files.directory / format::kMappingCsvName, failed))
    files.mapping = files.directory / format::kMappingCsvName;
  visit(std::move(files));
}

void DirectoryWalk::visit(StepFiles files) {
  const Location location = locate(trail_, first_inside_);
  if (!location.is_tree || files.is_alone) files.prefix = prefix_of(location);
  (*visit_)({std::move(files), location, trail_, first_inside_});
}

// The path below what was opened, without the numbers that are used as graph and step, and without the time
// of SGLang's only run.
std::string DirectoryWalk::prefix_of(const Location& location) const {
  std::size_t last = trail_.size();
  if (last > first_inside_ && parse_int64(trail_[last - 1]) == location.step) --last;
  if (last + 1 == trail_.size() && last > first_inside_ && parse_int64(trail_[last - 1]) == location.graph_id)
    --last;
  std::string prefix;
  for (std::size_t i = first_inside_; i < last; ++i)
    if (i != unnamed_) prefix += trail_[i] + "/";
  return prefix;
}

std::map<std::uint32_t, fs::path> find_ranks_in(const fs::path& directory) {
  std::map<std::uint32_t, fs::path> ranks;
  for (const std::string& name : directories_in(directory))
    if (const auto rank = find_rank(name)) ranks[*rank] = directory / name;
  return ranks;
}

}  // namespace opdump::dump
