// C++ wrappers for opdump.h: the same functions with automatic lifetimes. Header only, no exceptions.
#ifndef OPDUMP_OPDUMP_HPP
#define OPDUMP_OPDUMP_HPP

#include <cstdint>
#include <utility>

#include "opdump/opdump.h"

namespace opdump {

// A recording, closed by its destructor. Movable; empty after a failed open (see opdump_last_error()).
class Recording {
 public:
  Recording() = default;
  explicit Recording(opdump_options options) {
    options.size = sizeof options;
    status_ = opdump_open(&options, &session_);
  }
  Recording(Recording&& other) noexcept
      : session_(std::exchange(other.session_, nullptr)), status_(other.status_) {}
  Recording& operator=(Recording&& other) noexcept {
    std::swap(session_, other.session_);
    std::swap(status_, other.status_);
    return *this;
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  ~Recording() { close(); }

  // The result of opening.
  opdump_status status() const { return status_; }
  explicit operator bool() const { return session_ != nullptr; }
  opdump_session* get() const { return session_; }

  // Waits until everything is on disk. Not OPDUMP_OK if something was lost.
  opdump_status close() { return opdump_close(std::exchange(session_, nullptr)); }

 private:
  opdump_session* session_ = nullptr;
  opdump_status status_ = OPDUMP_OK;
};

// One execution of an operator: the constructor records the inputs; without finish() it ends as failed.
class Call {
 public:
  Call(opdump_session* session, const opdump_op* op, const opdump_tensor* inputs, std::size_t count)
      : session_(session), call_(opdump_begin(session, op, inputs, count)) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() {
    if (call_) opdump_end(session_, call_, nullptr, 0, 1);
  }

  // Records the outputs, after the operator ran.
  void finish(const opdump_tensor* outputs, std::size_t count) {
    opdump_end(session_, std::exchange(call_, nullptr), outputs, count, 0);
  }

 private:
  opdump_session* session_;
  opdump_call* call_;
};

}  // namespace opdump

#endif  // OPDUMP_OPDUMP_HPP
