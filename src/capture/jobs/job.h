// One piece of tensor data to be worked on: its statistics, its hash, its file. Several slots can share a job
// -- what one operator wrote, others read -- so that no byte is looked at or written twice. Or a container:
// the file of an execution, made of the data of several jobs that do nothing themselves.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "dump/write/scheme_writer.h"
#include "math/stats/stats.h"
#include "model/tensor_view.h"

namespace opdump::capture {

// Keeps foreign memory alive; lets go of it when destroyed.
class KeepAlive {
 public:
  using Release = void (*)(void* owner);
  using Wait = int (*)(void* owner);  // see opdump_options.wait
  KeepAlive() = default;
  KeepAlive(void* owner, Release release, Wait wait = nullptr)
      : owner_(owner), release_(release), wait_(wait) {}
  KeepAlive(KeepAlive&& other) noexcept
      : owner_(std::exchange(other.owner_, nullptr)), release_(other.release_), wait_(other.wait_) {}
  KeepAlive& operator=(KeepAlive&& other) noexcept {
    std::swap(owner_, other.owner_);
    std::swap(release_, other.release_);
    std::swap(wait_, other.wait_);
    return *this;
  }
  KeepAlive(const KeepAlive&) = delete;
  KeepAlive& operator=(const KeepAlive&) = delete;
  ~KeepAlive() {
    if (owner_) release_(owner_);
  }

  // Returns once the memory has its values; false if it never will.
  bool wait() const { return !owner_ || !wait_ || wait_(owner_) == 0; }

 private:
  void* owner_ = nullptr;
  Release release_ = nullptr;
  Wait wait_ = nullptr;  // null: the values are there
};

// Borrows memory of the engine.
struct Lender {
  void (*retain)(void* owner) = nullptr;  // null: nothing is borrowed
  KeepAlive::Release release = nullptr;
  KeepAlive::Wait wait = nullptr;  // null: nothing is late

  bool lends(void* owner) const { return owner && retain; }
  KeepAlive borrow(void* owner, bool is_late = false) const {
    retain(owner);
    return {owner, release, is_late ? wait : nullptr};
  }
};

// What a job has to find out or to do.
struct JobNeeds {
  math::StatNeeds statistics{};
  bool md5 = false, sha1 = false, xxh128 = false;
  bool file = false;
  bool operator==(const JobNeeds&) const = default;
  bool any_statistics() const { return statistics != math::StatNeeds{}; }
};

// Returns the statistics that an engine computed: max, min, avg, l2norm.
math::Statistics given_statistics(const double* numbers);

class Job {
 public:
  // Cuts the work into tasks that threads can share; `address` is used if there is a file to write.
  Job(model::TensorView view, JobNeeds needs, dump::SlotAddress address, dump::SchemeWriter* scheme);

  // A container of what `members` hold, in this order; their addresses say which operator's.
  Job(std::vector<std::shared_ptr<Job>> members, dump::SchemeWriter* scheme);

  // Statistics that are computed elsewhere, and read when the lender's memory has its values.
  explicit Job(const double* statistics);

  // The next task that nobody has claimed, or -1. Guarded by the pipeline's mutex.
  int claim() { return has_unclaimed() ? next_++ : -1; }
  bool has_unclaimed() const { return copying_ == 0 && next_ < task_count_; }
  bool is_untouched() const { return next_ == 0; }

  // Does a claimed task; what goes wrong is in error(). True if it was the last one: the results below are
  // final then.
  bool run(int task);
  bool is_done() const { return done_.load(std::memory_order_acquire); }

  // Gives the job its own copy of the data and lets go of the lender's, who may overwrite it then. Only while
  // untouched, and nobody may claim meanwhile. False, and nothing has changed, if there is no memory for it.
  bool detach();

  // Memory the job holds or keeps alive, counted against the limit.
  std::uint64_t held_bytes() const { return held_bytes_; }

  // Results, valid once done.
  const math::Statistics& statistics() const { return statistics_; }
  const std::string& md5() const { return md5_; }
  const std::string& sha1() const { return sha1_; }
  const std::string& xxh128() const { return xxh128_; }
  const std::filesystem::path& file() const { return file_; }
  const std::optional<Error>& error() const { return error_; }
  std::uint64_t data_bytes() const { return data_bytes_; }

 private:
  friend class Pipeline;
  void run_part(int task);
  Result<std::filesystem::path> write_container();
  void plan_tasks();
  void fail(Error error);
  void finish();
  void forget();   // lets go of the data
  void abandon();  // done, with an error: there is no memory for a copy

  const double* given_ = nullptr;  // see given_statistics()
  model::TensorView view_;
  JobNeeds needs_;
  dump::SlotAddress address_;
  dump::SchemeWriter* scheme_ = nullptr;
  std::uint64_t data_bytes_ = 0, held_bytes_ = 0;
  // Guarded by the pipeline's mutex.
  std::uint64_t content_ = 0;       // block of memory it was lent; 0 if none
  int copying_ = 0;                 // so many detach() are under way, of it or its members: nobody claims
  bool held_ = false;               // kept until it is known what for
  bool completed_ = false;          // the pipeline has nothing more to do with it
  std::shared_ptr<Job> container_;  // that a held job belongs to, until that is written
  std::vector<std::shared_ptr<Job>> members_;  // of a container

  KeepAlive keep_alive_;
  std::unique_ptr<std::byte[]> copy_;

  std::vector<model::TensorView> pieces_;  // for statistics
  std::vector<math::StatPartial> partials_;
  int task_count_ = 0, next_ = 0;  // tasks: [file] [md5] [sha1] [xxh128] pieces...
  std::atomic<int> remaining_{0};
  std::atomic<bool> done_{false}, failed_{false};

  math::Statistics statistics_{};
  std::string md5_, sha1_, xxh128_;
  std::filesystem::path file_;
  std::optional<Error> error_;
};

}  // namespace opdump::capture
