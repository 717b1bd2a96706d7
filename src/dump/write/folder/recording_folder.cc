#include "dump/write/folder/recording_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <set>
#include <utility>
#include <vector>

#include "base/file/file_replacement.h"
#include "dump/operator_log.h"
#include "dump/read/tree_location.h"
#include "dump/write/call_data.h"
#include "dump/write/step_directories.h"
#include "dump/write/tree_file.h"

namespace opdump::dump {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kIdDigits = 16;
constexpr int kAttempts = 100;

// How a lock was asked for and what became of it. Where the file system has no locks everything is free.
enum class Lock : std::uint8_t { acquired, busy };

Lock try_lock(const KeptFile& fd, int kind) {
  int result = 0;
  do result = ::flock(fd.get(), kind);
  while (result != 0 && errno == EINTR);
  return result != 0 && errno == EWOULDBLOCK ? Lock::busy : Lock::acquired;
}

// Writes `text` under a name that nobody has; false if somebody has it. Errors: io.
Result<bool> create_whole(const fs::path& path, std::string_view text) {
  const fs::path temporary = path.string() + ".tmp" + std::to_string(::getpid());
  OPDUMP_CHECK_OK(write_file_atomic(temporary, text, 0600));
  const int result = ::link(temporary.c_str(), path.c_str());
  const int number = errno;
  if (result != 0 && number != EEXIST && ::access(path.c_str(), F_OK) != 0) {
    // A file system without links: nobody else is here, the lock says.
    if (::rename(temporary.c_str(), path.c_str()) == 0) return true;
    errno = number;
  }
  Error error = io_error(path, "create");
  ::unlink(temporary.c_str());
  if (result == 0) return true;
  if (number == EEXIST || ::access(path.c_str(), F_OK) == 0) return false;
  return error;
}

Error is_busy(const fs::path& directory) {
  return refusal(directory.string() +
                 ": another program is recording there; wait for its end or record into another folder");
}

EarlierRecording to_earlier(const RecordingStatus& status) {
  return {status.run_id,   status.state,      status.started_us,
          status.ended_us, status.first_step, status.last_step};
}

}  // namespace

std::string make_run_id() {
  std::array<std::uint8_t, kIdDigits / 2> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    const auto now = std::chrono::system_clock::now().time_since_epoch().count();
    const std::uint64_t mixed =
        static_cast<std::uint64_t>(now) * 0x9E3779B97F4A7C15u ^ static_cast<std::uint64_t>(::getpid());
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(mixed >> (8 * i));
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string id;
  for (const std::uint8_t byte : bytes) {
    id += kDigits[byte >> 4];
    id += kDigits[byte & 15];
  }
  return id;
}

bool is_run_id(std::string_view text) {
  return text.size() == kIdDigits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Result<std::uint64_t> begin_to_replace(const FolderPart& part) {
  std::vector<OpenDirectory> locked;
  std::error_code failed;
  fs::directory_iterator entries(part.root, failed);
  for (; !failed && entries != fs::directory_iterator(); entries.increment(failed)) {
    const auto rank = find_rank(entries->path().filename().string());
    std::error_code unknown;
    if (!rank || part.rank.value_or(*rank) != *rank || entries->is_symlink(unknown) ||
        !entries->is_directory(unknown))
      continue;
    OPDUMP_TRY(OpenDirectory directory, open_directory(entries->path()));
    if (try_lock(directory.fd, LOCK_EX | LOCK_NB) == Lock::busy) return is_busy(directory.path);
    locked.push_back(std::move(directory));
  }
  OPDUMP_TRY(const std::uint64_t bytes, put_dump_aside(part));
  for (const OpenDirectory& directory : locked) ::rmdir(directory.path.c_str());  // unless others have files
  return bytes;
}

// One attempt after another to claim the folder, until the directory that is locked is the one of that name.
class FolderClaim {
 public:
  FolderClaim(const FolderOptions& options, RecordingStatus& status)
      : options_(options), status_(status), path_(rank_directory(options.root, options.rank)) {}

  Result<RecordingFolder> claim() {
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      OPDUMP_CHECK_OK(open());
      // Alone, or else beside those who record there already.
      const bool is_alone = try_lock(directory_.fd, LOCK_EX | LOCK_NB) == Lock::acquired;
      if (!is_alone) try_lock(directory_.fd, LOCK_SH);
      if (!check_in_place(directory_)) continue;  // removed meanwhile
      OPDUMP_TRY(const bool done, is_alone ? claim_alone() : claim_beside());
      if (!done) continue;
      try_lock(folder_.lock_, LOCK_SH);  // others of the run may come
      return std::move(folder_);
    }
    return refusal(path_.string() + ": other processes keep beginning to record there");
  }

 private:
  Result<> open() {
    OPDUMP_CHECK_OK(make_directories(options_.root, 0700));
    OPDUMP_TRY(directory_, open_directory(path_));
    return ok();
  }

  // Nobody records there.
  Result<bool> claim_alone() {
    const FolderPart part{options_.root, options_.rank, options_.device};
    if (options_.existing == Existing::replace) discard_dump_aside(part);
    if (const auto found = find_dump(part, status_.run_id)) {
      if (options_.existing == Existing::refuse) return dump_exists(*found);
      OPDUMP_CHECK_OK(options_.existing == Existing::replace ? remove_dump(part) : fold_earlier());
    }
    return begin();
  }

  // Others record there: they must be of this run, or have another time than it.
  Result<bool> claim_beside() {
    const auto statuses = list_statuses(path_);
    if (statuses.empty()) return false;  // who had the lock has not begun
    const bool is_joined = std::ranges::any_of(statuses, [&](const StatusFile& file) {
      return file.status && file.status->run_id == status_.run_id;
    });
    if (!is_joined && !(options_.by_time && options_.existing == Existing::append)) return is_busy(path_);
    return begin();
  }

  Result<bool> begin() {
    find_time();
    for (unsigned number = 1;; ++number) {
      const std::string name = status_file_name(status_.process, number);
      OPDUMP_TRY(const bool is_free, create_whole(path_ / name, encode_status(status_)));
      if (!is_free) continue;
      folder_.name_ = name;
      folder_.directory_ = path_;
      folder_.lock_ = std::move(directory_.fd);
      return true;
    }
  }

  // The time of the run, or one that no directory has.
  void find_time() {
    if (!options_.by_time) return;
    for (const StatusFile& file : list_statuses(path_))
      if (file.status && file.status->run_id == status_.run_id && !file.status->time_directory.empty())
        status_.time_directory = file.status->time_directory;
    if (!status_.time_directory.empty()) return;
    std::set<std::string> taken{last_time_};
    for (const StatusFile& file : list_statuses(path_))
      if (file.status) taken.insert(file.status->time_directory);
    std::error_code failed;
    for (std::uint64_t us = status_.started_us;; us += 1'000'000) {
      status_.time_directory = format_local_time(us);
      const fs::path device = fs::path(status_.time_directory) / std::to_string(options_.device);
      if (!taken.contains(status_.time_directory) && !fs::exists(options_.root / device, failed)) return;
    }
  }

  // Makes the statuses of the recordings before this one a part of its own.
  Result<> fold_earlier() {
    for (const StatusFile& file : list_statuses(path_))
      if (file.status) last_time_ = std::max(last_time_, file.status->time_directory);
    if (const auto before = read_status(path_); before && !options_.by_time) {
      status_.earlier = before->earlier;
      status_.earlier.push_back(to_earlier(*before));
    }
    for (const StatusFile& file : list_statuses(path_))
      if (::unlink((path_ / file.name).c_str()) != 0 && errno != ENOENT)
        return io_error(path_ / file.name, "replace");
    folder_.was_added_ = true;
    return ok();
  }

  const FolderOptions& options_;
  RecordingStatus& status_;
  const fs::path path_;
  OpenDirectory directory_;
  std::string last_time_;  // of the recordings before
  RecordingFolder folder_;
};

Result<RecordingFolder> RecordingFolder::claim(const FolderOptions& options, RecordingStatus& status) {
  return FolderClaim(options, status).claim();
}

RecordingFolder& RecordingFolder::operator=(RecordingFolder&& other) noexcept {
  std::swap(lock_, other.lock_);
  std::swap(directory_, other.directory_);
  std::swap(name_, other.name_);
  std::swap(was_added_, other.was_added_);
  std::swap(began_, other.began_);
  return *this;
}

RecordingFolder::~RecordingFolder() {
  if (!name_.empty() && !began_) ::unlink((directory_ / name_).c_str());
  leave();
}

Result<> RecordingFolder::write(const RecordingStatus& status) {
  began_ = true;
  return write_status(directory_, status, name_);
}

void RecordingFolder::remove_trace() {
  if (name_.empty() || was_added_) return;
  ::unlink((directory_ / name_).c_str());
  if (list_statuses(directory_).empty()) {
    ::unlink((directory_ / kOperatorLogName).c_str());
    ::rmdir(directory_.c_str());  // unless others have files
  }
  leave();
}

void RecordingFolder::leave() {
  if (!lock_) return;
  if (lock_.is_held())
    ::flock(lock_.get(), LOCK_UN);  // a child that the program forked may have the descriptor, too
  lock_ = KeptFile();
}

void RecordingFolder::abandon() { lock_ = KeptFile(); }

}  // namespace opdump::dump
