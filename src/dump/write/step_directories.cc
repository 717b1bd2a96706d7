#include "dump/write/step_directories.h"

#include <algorithm>
#include <system_error>

#include "dump/file_name.h"
#include "format/tables/mapping_csv.h"

namespace opdump::dump {
namespace {

constexpr std::size_t kMaxOpenDirectories = 8;  // the one that was not used longest is closed first
constexpr std::size_t kMaxMoved = 256;  // steps of which some thread may not know that they were moved

}  // namespace

std::filesystem::path rank_directory(const std::filesystem::path& root, std::uint32_t rank) {
  return root / ("rank_" + std::to_string(rank));
}

Result<> check_net_name(const std::string& net_name) {
  if (!net_name.empty() && net_name != "." && net_name != ".." && net_name.find('/') == std::string::npos)
    return ok();
  return Error(Code::usage, "net_name is \"" + net_name + "\"; expected the name of one directory");
}

Result<std::unique_ptr<StepDirectories>> StepDirectories::open(const std::filesystem::path& root,
                                                               std::uint32_t rank, PathOf path_of) {
  OPDUMP_TRY(OpenDirectory opened_root, open_root(root));
  OPDUMP_TRY(OpenDirectory opened_rank, open_directory(rank_directory(root, rank)));
  return std::make_unique<StepDirectories>(std::move(opened_root), std::move(opened_rank),
                                           std::move(path_of));
}

std::int64_t StepDirectories::graph_of(const SlotAddress& address) {
  const std::lock_guard lock(mutex_);
  const auto moved = moved_.find({address.step, address.graph_id});
  return moved == moved_.end() ? address.graph_id : moved->second;
}

Result<std::shared_ptr<const OpenDirectory>> StepDirectories::find(const SlotAddress& address) {
  const Key key{address.step, graph_of(address)};
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(opened_, key, &decltype(opened_)::value_type::first);
  if (found != opened_.end()) {
    OPDUMP_CHECK_OK(found->second->fd.use());
    opened_.splice(opened_.begin(), opened_, found);
    return std::shared_ptr<const OpenDirectory>(found->second);
  }
  OPDUMP_CHECK_OK(check());  // a tree that went away must not be begun anew
  OPDUMP_CHECK_OK(root_.fd.use());
  OPDUMP_TRY(OpenDirectory opened, open_below(root_, path_of_(key.second, address.step)));
  auto directory = std::make_shared<OpenDirectory>(std::move(opened));
  if (opened_.size() == kMaxOpenDirectories) opened_.pop_back();
  opened_.emplace_front(key, directory);
  return std::shared_ptr<const OpenDirectory>(directory);
}

// Where a file lies that was made before its step was moved.
std::filesystem::path StepDirectories::place_now(const std::filesystem::path& file) {
  const std::lock_guard lock(mutex_);
  const auto moved = moved_directories_.find(file.parent_path());
  return moved == moved_directories_.end() ? file : moved->second / file.filename();
}

// A decimal name that was free, with its line in mapping.csv. claim(name) makes the file and says whether the
// name was free. The line comes before the data: a file without a line would be lost, a line without a file
// does no harm.
template <typename F>
Result<std::string> StepDirectories::claim_short_name(const OpenDirectory& directory,
                                                      const std::string& long_name,
                                                      std::uint64_t timestamp_us, const F& claim) {
  const std::string_view extension = long_name.ends_with(".npy")    ? ".npy"
                                     : long_name.ends_with(".json") ? ".json"
                                                                    : "";
  for (std::uint64_t number = timestamp_us;; ++number) {
    std::string name = std::to_string(number % (std::uint64_t{1} << 31)).append(extension);
    OPDUMP_TRY(const bool free, claim(name));
    if (!free) continue;
    if (auto mapped = append_mapping(directory, name, long_name); !mapped) {
      remove_file(directory, name);
      return mapped.take_error();
    }
    return name;
  }
}

// The name that the scheme gives a file whose own is too long; opened as `fd`.
Result<std::string> StepDirectories::create_short(const OpenDirectory& directory,
                                                  const std::string& long_name, Fd& fd) {
  std::string name = short_name_(directory.path / long_name);
  OPDUMP_CHECK_OK(append_mapping(directory, name, long_name));
  OPDUMP_TRY(fd, create_replacing(directory, name));
  return name;
}

Result<> StepDirectories::append_mapping(const OpenDirectory& directory, const std::string& name,
                                         const std::string& long_name) {
  std::string line;
  format::append_mapping_line(line, name, long_name);
  const std::filesystem::path path = directory.path / format::kMappingCsvName;
  const std::lock_guard lock(mutex_);
  OPDUMP_TRY(const Fd fd, open_append(path, ""));
  auto written = write_all(fd, std::as_bytes(std::span(line)), path);
  if (!written) return Error(Code::io, written.error().message());
  return written;
}

Result<std::filesystem::path> StepDirectories::create(const SlotAddress& address, std::string name,
                                                      const Write& write) {
  const std::shared_lock staying(moving_);
  OPDUMP_TRY(const auto directory, find(address));
  Fd fd;
  if (name.size() <= kMaxFileName) {
    OPDUMP_TRY(fd, create_replacing(*directory, name));
  } else if (short_name_) {
    OPDUMP_TRY(name, create_short(*directory, name, fd));
  } else {
    OPDUMP_TRY(name, claim_short_name(*directory, name, address.timestamp_us,
                                      [&](const std::string& short_name) -> Result<bool> {
                                        OPDUMP_TRY(auto created, create_new(*directory, short_name));
                                        if (created) fd = std::move(*created);
                                        return created.has_value();
                                      }));
  }
  std::filesystem::path path = directory->path / name;
  if (auto written = write(fd, path); !written) {
    remove_file(*directory, name);  // on a full disk a part of a tensor helps nobody
    return written.take_error();
  }
  return path;
}

Result<> StepDirectories::link(const SlotAddress& address, const std::string& name,
                               const std::filesystem::path& made) {
  const std::shared_lock staying(moving_);
  const std::filesystem::path file = place_now(made);
  OPDUMP_TRY(const auto directory, find(address));
  if (name.size() <= kMaxFileName) return link_replacing(*directory, name, file);
  auto claimed = claim_short_name(*directory, name, address.timestamp_us, [&](const std::string& short_name) {
    return link_new(*directory, short_name, file);
  });
  if (!claimed) return claimed.take_error();
  return ok();
}

Result<> StepDirectories::move(std::int64_t step, std::int64_t from, std::int64_t to) {
  const std::unique_lock nobody_writes(moving_);
  const std::lock_guard lock(mutex_);
  std::erase_if(opened_, [&](const auto& opened) {
    return opened.first == Key(step, from) || opened.first == Key(step, to);
  });
  const std::filesystem::path source = root_.path / path_of_(from, step);
  const std::filesystem::path target = root_.path / path_of_(to, step);
  OPDUMP_CHECK_OK(move_directory(source, target));
  std::error_code not_empty;  // other steps are executions of the graph
  std::filesystem::remove(source.parent_path(), not_empty);
  moved_.erase({step, to});
  moved_[{step, from}] = to;
  moved_directories_[source] = target;
  while (moved_.size() > kMaxMoved) {
    const auto& [key, graph] = *moved_.begin();
    moved_directories_.erase(root_.path / path_of_(key.second, key.first));
    moved_.erase(moved_.begin());
  }
  return ok();
}

}  // namespace opdump::dump
