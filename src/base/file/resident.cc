#include "base/file/resident.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/file/fd.h"

namespace opdump {
namespace {

constexpr std::size_t kLargeMapping = 64 << 20;  // whose file stays open
constexpr std::uint64_t kUsualBytes = 64 << 20;  // of libraries, that every process has mapped

struct Mapping {
  std::span<const std::byte> bytes;
  Fd fd;  // of large ones
};

constexpr auto kInterval = std::chrono::milliseconds(1);  // fast readers read 40 MB meanwhile
constexpr std::int64_t kNever = INT64_MAX;

struct Mappings {
  std::mutex mutex;                 // guards the others
  std::condition_variable changed;  // total
  std::vector<Mapping> list;
  std::uint64_t total = 0;          // bytes of the list
  std::uint64_t kept = UINT64_MAX;  // of mapped files when all pages were given back; libraries have these
  std::atomic<std::int64_t> next_look{kNever};  // steady clock; kNever while little is mapped
  bool is_watched = false;
};

Mappings& mappings();

// The thread that watches does not exist in a child of the process, and its lock must be free there.
void lock_before_fork() { mappings().mutex.lock(); }
void unlock_in_parent() { mappings().mutex.unlock(); }
void unlock_in_child() {
  Mappings& all = mappings();
  all.is_watched = false;
  ::new (&all.changed) std::condition_variable;
  all.mutex.unlock();
}

// One for the whole process, as its memory is. Never destroyed: threads may outlive main().
Mappings& mappings() {
  static auto* const all = [] {
    ::pthread_atfork(lock_before_fork, unlock_in_parent, unlock_in_child);
    return new Mappings;
  }();
  return *all;
}

// Before there are threads: a child that is forked while another thread makes it would wait for that thread.
[[maybe_unused]] const Mappings& made_early = mappings();

// How much of mapped files is memory of this process; 0 if the system does not say.
std::uint64_t mapped_bytes() {
  const Fd fd(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC));  // "total resident shared ...", in pages
  std::array<char, 64> text{};
  if (!fd || ::read(fd.get(), text.data(), text.size() - 1) <= 0) return 0;
  char* rest = text.data();
  for (int skipped = 0; skipped < 2; ++skipped) std::strtoull(rest, &rest, 10);
  return std::strtoull(rest, nullptr, 10) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::int64_t ticks_after(std::chrono::steady_clock::duration time) {
  return (std::chrono::steady_clock::now() + time).time_since_epoch().count();
}

// Gives pages back if they are many. The caller holds the lock.
void look(Mappings& all) {
  const std::uint64_t usual = all.kept == UINT64_MAX ? kUsualBytes : all.kept;
  if (mapped_bytes() >= usual + kResidentBytes) {
    for (const auto& [bytes, fd] : all.list)
      ::madvise(const_cast<std::byte*>(bytes.data()), bytes.size(), MADV_DONTNEED);
    // Other threads may have touched some again meanwhile: the least is what libraries have.
    all.kept = std::min(all.kept, std::max(kUsualBytes, mapped_bytes()));
  }
  all.next_look = ticks_after(kInterval);
}

// Gives pages back as long as much is mapped.
void watch() {
  Mappings& all = mappings();
  std::unique_lock lock(all.mutex);
  for (;; all.changed.wait_for(lock, kInterval)) {
    while (all.total < kResidentBytes) all.changed.wait(lock);
    look(all);
  }
}

// Starts the thread; the caller holds the lock. Signals are for the threads of the program. If no thread
// starts, nothing is given back.
void start_watching(Mappings& all) {
  sigset_t every, before;
  ::sigfillset(&every);
  ::pthread_sigmask(SIG_SETMASK, &every, &before);
  try {
    std::thread(watch).detach();
    all.is_watched = true;
  } catch (const std::system_error&) {
    all.is_watched = false;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

void note_mapping(std::span<const std::byte> mapped, const Fd& fd) {
  if (mapped.size() < kLeastMapping) return;
  Fd kept(mapped.size() < kLargeMapping ? -1 : ::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
  Mappings& all = mappings();
  const std::lock_guard lock(all.mutex);
  all.list.push_back({mapped, std::move(kept)});
  all.total += mapped.size();
  if (all.total < kResidentBytes) return;
  if (all.next_look == kNever) all.next_look = ticks_after(kInterval);
  if (!all.is_watched) start_watching(all);
  if (all.total - mapped.size() < kResidentBytes) all.changed.notify_one();
}

void watch_mappings() {
  Mappings& all = mappings();
  const std::lock_guard lock(all.mutex);
  if (all.total >= kResidentBytes && !all.is_watched) start_watching(all);
}

void forget_mapping(std::span<const std::byte> mapped) {
  if (mapped.size() < kLeastMapping) return;
  Mappings& all = mappings();
  const std::lock_guard lock(all.mutex);
  if (std::erase_if(all.list, [&](const Mapping& each) { return each.bytes.data() == mapped.data(); }) > 0)
    all.total -= mapped.size();
  if (all.total < kResidentBytes) all.next_look = kNever;
}

void give_back_when_due() {
  Mappings& all = mappings();
  const auto is_due = [&] {
    const std::int64_t due = all.next_look.load(std::memory_order_relaxed);
    return due != kNever && ticks_after({}) >= due;
  };
  if (!is_due()) return;
  const std::lock_guard lock(all.mutex);  // nobody reads on while another thread gives pages back
  if (is_due()) look(all);
}

std::optional<MappingFile> MappingFile::find(std::span<const std::byte> bytes) {
  Mappings& all = mappings();
  const std::lock_guard lock(all.mutex);
  const auto holds = [&](const Mapping& each) {
    return each.fd && bytes.data() >= each.bytes.data() &&
           bytes.data() < each.bytes.data() + each.bytes.size();
  };
  const auto found = std::ranges::find_if(all.list, holds);
  if (found == all.list.end()) return std::nullopt;
  return MappingFile(found->fd.get(), found->bytes.data());
}

void MappingFile::read(std::span<const std::byte> bytes, std::byte* to) const {
  while (!bytes.empty()) {
    const ssize_t n = ::pread(fd_, to, bytes.size(), bytes.data() - begin_);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    to += n;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  std::memcpy(to, bytes.data(), bytes.size());  // what cannot be read cannot be looked at either
}

std::vector<std::span<const std::byte>> MappingFile::stored_parts(std::span<const std::byte> bytes) const {
  constexpr std::size_t kMostParts = 1 << 16;  // a file may have a hole in every second block
  std::vector<std::span<const std::byte>> parts;
  const off_t end = bytes.data() + bytes.size() - begin_;
  for (off_t at = bytes.data() - begin_; at < end;) {
    const off_t first = parts.size() < kMostParts ? ::lseek(fd_, at, SEEK_DATA) : at;
    if (first < 0 && errno == ENXIO) break;  // nothing but a hole up to its end
    const off_t last = first >= 0 && parts.size() < kMostParts ? ::lseek(fd_, first, SEEK_HOLE) : end;
    if (first < 0 || last <= first) return {bytes};
    if (first < end) parts.emplace_back(begin_ + first, begin_ + std::min(last, end));
    at = last;
  }
  return parts;
}

void MappingFile::write(std::span<const std::byte> bytes, std::byte* to) const {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd_, bytes.data(), bytes.size(), to - begin_);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    to += n;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  std::memcpy(to, bytes.data(), bytes.size());
}

}  // namespace opdump
