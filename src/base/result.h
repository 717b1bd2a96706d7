// Errors are values. Anything a user, a file or a disk can cause is returned as
// Result<T>; nothing in src/ throws, aborts or prints.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace opdump {

// What went wrong, coarse enough to choose an exit code from (see cli/verb.h).
enum class Code : std::uint8_t {
  usage,        // the command line or an API argument
  config,       // a configuration file; the message starts with file:line:column
  not_found,    // a path, step, operator or slot that does not exist
  io,           // the system refused: permission, disk full, broken pipe
  corrupt,      // bytes that break the rules of their format
  unsupported,  // valid, but not something we read or write
  limit,        // valid, but larger than a stated limit
  internal,     // our bug
};

class [[nodiscard]] Error {
 public:
  Error(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  Code code() const { return code_; }
  const std::string& message() const { return message_; }

  // Puts the caller's context in front: "net.npy: header: shape is missing".
  Error within(std::string_view context) && {
    message_.insert(0, std::string(context) + ": ");
    return std::move(*this);
  }

  // The number that the system whose language or format it is has for the failure, opdump_last_error_code();
  // 0 if none.
  int number() const { return number_; }
  Error with_number(int number) && {
    number_ = number;
    return std::move(*this);
  }

 private:
  Code code_;
  int number_ = 0;
  std::string message_;
};

// A value, or why there is none. `E` is another type where the rules of a foreign program say what an error
// is.
template <typename T = std::monostate, typename E = Error>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}
  Result(E error) : state_(std::move(error)) {}

  explicit operator bool() const { return std::holds_alternative<T>(state_); }
  T& operator*() { return std::get<T>(state_); }
  T* operator->() { return &std::get<T>(state_); }
  const T& operator*() const { return std::get<T>(state_); }
  const T* operator->() const { return &std::get<T>(state_); }
  const E& error() const { return std::get<E>(state_); }
  E take_error() { return std::move(std::get<E>(state_)); }

 private:
  std::variant<T, E> state_;
};

inline Result<> ok() { return std::monostate{}; }

#define OPDUMP_CAT_(a, b) a##b
#define OPDUMP_CAT(a, b) OPDUMP_CAT_(a, b)

// OPDUMP_TRY(auto header, read_header(file));  -- returns the error, or binds the value.
#define OPDUMP_TRY(target, expr) OPDUMP_TRY_(OPDUMP_CAT(try_, __LINE__), target, expr)
#define OPDUMP_TRY_(tmp, target, expr) \
  auto tmp = (expr);                   \
  if (!tmp) return tmp.take_error();   \
  target = std::move(*tmp)

// OPDUMP_CHECK_OK(flush());  -- for a Result<> whose value nobody needs.
#define OPDUMP_CHECK_OK(expr) \
  if (auto r_ = (expr); !r_) return r_.take_error()

}  // namespace opdump
