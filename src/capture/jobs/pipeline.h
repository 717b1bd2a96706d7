// The threads that work on recorded tensors, and the bound on the memory they hold. Whoever must wait helps:
// a thread of the watched program that is held up by the limit, or by a tensor it is about to overwrite, does
// the work itself instead of sleeping, so the program cannot deadlock on a pipeline that has no thread to
// run.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "capture/jobs/job.h"

namespace opdump::capture {

class Pipeline {
 public:
  // `idle` is called by a worker when it runs out of work, and every 20 ms in any case. It must not throw,
  // nor block for long. If the system refuses threads there are fewer, or none: then those who wait do all
  // the work.
  Pipeline(unsigned threads, std::uint64_t memory_limit_bytes, std::function<void()> idle);
  ~Pipeline();  // waits for all jobs
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // Queues a job whose data stays valid as long as `keep_alive` lives. `content` (not 0) is what
  // before_write() will ask for. Blocks, helping, while the memory limit is exceeded.
  void submit_borrowed(const std::shared_ptr<Job>& job, KeepAlive keep_alive, std::uint64_t content);

  // Queues a job with its own copy of the data, made before this returns. Blocks, helping, as above.
  void submit_copied(const std::shared_ptr<Job>& job);

  // Keeps the data of a job as it is now, until submit_held() or drop_held(): lent as for submit_borrowed()
  // if `content` is not 0, else copied before this returns. Blocks, helping, as above. A job that nothing
  // could be kept for has an error and is done.
  void hold(const std::shared_ptr<Job>& job, KeepAlive keep_alive, std::uint64_t content);
  void submit_held(const std::shared_ptr<Job>& job);
  void drop_held(const std::shared_ptr<Job>& job);

  // Queues a container, whose members are held, and lets go of them when it is written.
  void submit_container(const std::shared_ptr<Job>& job);

  // Does the job before returning, sharing it with idle workers. For data that is gone afterwards.
  void run_now(const std::shared_ptr<Job>& job);

  // Returns once no job reads the block of memory `content`: unfinished ones are run here, or given a copy of
  // it if they write a file that nobody has begun. At once if nothing is pending.
  void before_write(std::uint64_t content);

  // Does so for every block: from here on nobody will say what is written to.
  void before_any_write();

  // Returns once everything queued is done.
  void wait_all();

  std::uint64_t peak_held_bytes() const { return peak_held_bytes_; }

 private:
  void work();
  void reserve(std::unique_lock<std::mutex>& lock, std::uint64_t bytes);
  bool help(std::unique_lock<std::mutex>& lock);
  void run_task(std::unique_lock<std::mutex>& lock, const std::shared_ptr<Job>& job, int task);
  void complete(const std::shared_ptr<Job>& job);
  bool copy_instead(std::unique_lock<std::mutex>& lock, const std::shared_ptr<Job>& job);
  void end_hold(std::unique_lock<std::mutex>& lock, const std::shared_ptr<Job>& job);
  void return_loan(const std::shared_ptr<Job>& job);
  void settle(std::unique_lock<std::mutex>& lock, const std::shared_ptr<Job>& job);
  void enqueue(const std::shared_ptr<Job>& job);
  void wake(const Job& job);

  std::mutex mutex_;  // guards everything below but the atomics
  std::condition_variable work_available_, job_done_;
  std::deque<std::shared_ptr<Job>> queue_;  // holds every job with unclaimed tasks, and some without
  std::unordered_multimap<std::uint64_t, std::shared_ptr<Job>>
      borrowed_;                                  // jobs that read lent memory, by content
  std::atomic<std::uint64_t> borrowed_count_{0};  // its size
  std::uint64_t unfinished_ = 0, held_bytes_ = 0;
  std::atomic<std::uint64_t> peak_held_bytes_{0};
  unsigned sleeping_ = 0;
  bool stopping_ = false;
  const std::uint64_t memory_limit_bytes_;
  std::function<void()> idle_;
  std::vector<std::thread> threads_;
};

}  // namespace opdump::capture
