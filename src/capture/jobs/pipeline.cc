#include "capture/jobs/pipeline.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <utility>

namespace opdump::capture {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kIdlePeriod = std::chrono::milliseconds(20);

}  // namespace

Pipeline::Pipeline(unsigned threads, std::uint64_t memory_limit_bytes, std::function<void()> idle)
    : memory_limit_bytes_(memory_limit_bytes), idle_(std::move(idle)) {
  // Signals belong to the watched program's own threads.
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  try {
    for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  } catch (const std::exception&) {  // no more threads for this process: fewer will do
  }
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

Pipeline::~Pipeline() {
  wait_all();
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_available_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Pipeline::submit_borrowed(const std::shared_ptr<Job>& job, KeepAlive keep_alive, std::uint64_t content) {
  job->keep_alive_ = std::move(keep_alive);
  std::unique_lock lock(mutex_);
  reserve(lock, job->held_bytes_ = job->data_bytes());
  if ((job->content_ = content) != 0) {
    borrowed_.emplace(content, job);
    borrowed_count_.fetch_add(1, std::memory_order_relaxed);
  }
  enqueue(job);
}

void Pipeline::submit_copied(const std::shared_ptr<Job>& job) {
  {
    std::unique_lock lock(mutex_);
    reserve(lock, job->data_bytes());
  }
  const bool copied = job->detach();
  std::unique_lock lock(mutex_);
  if (copied) return enqueue(job);
  held_bytes_ -= job->data_bytes();
  enqueue(job);
  settle(lock, job);
}

void Pipeline::hold(const std::shared_ptr<Job>& job, KeepAlive keep_alive, std::uint64_t content) {
  job->keep_alive_ = std::move(keep_alive);
  std::unique_lock lock(mutex_);
  reserve(lock, job->held_bytes_ = job->data_bytes());
  job->held_ = true;
  if ((job->content_ = content) != 0) {
    borrowed_.emplace(content, job);
    borrowed_count_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  lock.unlock();
  const bool copied = job->detach();
  lock.lock();
  if (!copied) job->abandon();
}

// Nobody else knows the job after this, apart from those who lent it something.
void Pipeline::end_hold(std::unique_lock<std::mutex>& lock, const std::shared_ptr<Job>& job) {
  job_done_.wait(lock, [&] { return job->copying_ == 0; });
  job->held_ = false;
}

void Pipeline::submit_held(const std::shared_ptr<Job>& job) {
  std::unique_lock lock(mutex_);
  end_hold(lock, job);
  enqueue(job);
}

void Pipeline::drop_held(const std::shared_ptr<Job>& job) {
  std::unique_lock lock(mutex_);
  end_hold(lock, job);
  return_loan(job);
  held_bytes_ -= job->held_bytes_;
  lock.unlock();
  job->forget();
}

void Pipeline::submit_container(const std::shared_ptr<Job>& job) {
  std::unique_lock lock(mutex_);
  for (const auto& member : job->members_) {
    job_done_.wait(lock, [&] { return member->copying_ == 0; });
    member->container_ = job;
  }
  enqueue(job);
}

void Pipeline::run_now(const std::shared_ptr<Job>& job) {
  std::unique_lock lock(mutex_);
  enqueue(job);
  settle(lock, job);
}

void Pipeline::enqueue(const std::shared_ptr<Job>& job) {
  ++unfinished_;
  if (job->task_count_ == 0) return complete(job);
  queue_.push_back(job);
  wake(*job);
}

void Pipeline::wake(const Job& job) {
  if (sleeping_ == 0) return;
  if (job.task_count_ > 1)
    work_available_.notify_all();
  else
    work_available_.notify_one();
}

void Pipeline::before_write(std::uint64_t content) {
  // Acquire, as somebody who finds no loan goes on to write where a worker has just been reading.
  if (borrowed_count_.load(std::memory_order_acquire) == 0) return;
  std::unique_lock lock(mutex_);
  for (auto found = borrowed_.find(content); found != borrowed_.end(); found = borrowed_.find(content)) {
    const std::shared_ptr<Job> job = found->second, container = job->container_;
    if (job->copying_ > 0) {
      job_done_.wait(lock, [&] { return job->copying_ == 0; });
    } else if (container && !container->is_untouched()) {
      settle(lock, container);
    } else if (job->held_) {
      if (!copy_instead(lock, job)) job->abandon();
      return_loan(job);
    } else if (!(job->needs_.file && job->is_untouched() && copy_instead(lock, job))) {
      settle(lock, job);
    }
  }
}

void Pipeline::before_any_write() {
  for (std::uint64_t content = 0;;) {
    {
      const std::lock_guard lock(mutex_);
      if (borrowed_.empty()) return;
      content = borrowed_.begin()->first;
    }
    before_write(content);
  }
}

// A copy costs less than a file. False if there is no memory for it.
bool Pipeline::copy_instead(std::unique_lock<std::mutex>& lock, const std::shared_ptr<Job>& job) {
  const std::shared_ptr<Job> container = job->container_;
  const auto count = [&](int change) {
    job->copying_ += change;
    if (container) container->copying_ += change;
  };
  count(1);
  lock.unlock();
  const bool copied = job->detach();
  lock.lock();
  count(-1);
  if (copied) return_loan(job);
  if (const std::shared_ptr<Job>& queued = container ? container : job; container || !job->held_) {
    queue_.push_front(queued);  // another thread may have removed it from the queue meanwhile
    wake(*queued);
  }
  job_done_.notify_all();
  return copied;
}

void Pipeline::wait_all() {
  std::unique_lock lock(mutex_);
  while (unfinished_ > 0)
    if (!help(lock)) job_done_.wait_for(lock, kIdlePeriod);
}

// Waits until the job is done, doing as much of it here as others have left.
void Pipeline::settle(std::unique_lock<std::mutex>& lock, const std::shared_ptr<Job>& job) {
  for (int task; (task = job->claim()) >= 0;) run_task(lock, job, task);
  job_done_.wait(lock, [&] { return job->completed_; });
}

void Pipeline::reserve(std::unique_lock<std::mutex>& lock, std::uint64_t bytes) {
  // A single tensor larger than the limit still passes, alone; so do those that others hold: nobody but their
  // holders can let go of them.
  while (unfinished_ > 0 && held_bytes_ + bytes > memory_limit_bytes_)
    if (!help(lock)) job_done_.wait_for(lock, kIdlePeriod);
  held_bytes_ += bytes;
  peak_held_bytes_.store(std::max(peak_held_bytes_.load(), held_bytes_));
}

// Does one task of the oldest job. False if there is none.
bool Pipeline::help(std::unique_lock<std::mutex>& lock) {
  while (!queue_.empty()) {
    const std::shared_ptr<Job> job = queue_.front();
    const int task = job->claim();
    if (!job->has_unclaimed()) queue_.pop_front();
    if (task < 0) continue;
    run_task(lock, job, task);
    return true;
  }
  return false;
}

void Pipeline::run_task(std::unique_lock<std::mutex>& lock, const std::shared_ptr<Job>& job, int task) {
  lock.unlock();
  const bool finished = job->run(task);
  lock.lock();
  if (finished) complete(job);
}

void Pipeline::return_loan(const std::shared_ptr<Job>& job) {
  if (job->content_ == 0) return;
  for (auto [entry, end] = borrowed_.equal_range(job->content_); entry != end; ++entry)
    if (entry->second == job) {
      borrowed_.erase(entry);
      break;
    }
  job->content_ = 0;
  borrowed_count_.fetch_sub(1, std::memory_order_release);
}

void Pipeline::complete(const std::shared_ptr<Job>& job) {
  held_bytes_ -= job->held_bytes_;
  return_loan(job);
  for (const auto& member : std::exchange(job->members_, {})) {
    held_bytes_ -= member->held_bytes_;
    return_loan(member);
    member->container_ = nullptr;
  }
  job->completed_ = true;
  --unfinished_;
  job_done_.notify_all();
}

void Pipeline::work() {
  // Does not preempt threads of the program: where one of OpenMP's is held up, all of them wait.
  const sched_param priority{};
  if (sched_getscheduler(0) == SCHED_OTHER) (void)sched_setscheduler(0, SCHED_BATCH, &priority);
  std::unique_lock lock(mutex_);
  auto last_idle = Clock::now();
  while (!stopping_) {
    const bool helped = help(lock);
    if (helped && Clock::now() - last_idle < kIdlePeriod) continue;
    lock.unlock();
    idle_();
    last_idle = Clock::now();
    lock.lock();
    if (helped || !queue_.empty() || stopping_) continue;
    ++sleeping_;
    work_available_.wait_for(lock, kIdlePeriod);
    --sleeping_;
  }
}

}  // namespace opdump::capture
