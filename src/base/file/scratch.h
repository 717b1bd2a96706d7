// Memory for elements that do not lie in a file as they are used: taken out of an archive, unpacked, brought
// into another order. All of it together may be as large as a dump, so only a little is memory of the
// process; what is more lies in files without a name, mapped, that the system puts on the disk when it needs
// the memory. They are in $TMPDIR, or in /var/tmp: /tmp is memory on many systems.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/result.h"

namespace opdump {

// What all Scratch of a process may take of its memory.
inline constexpr std::uint64_t kScratchHeldBytes = 64 << 20;

class Scratch {
 public:
  // Whether processes that are forked later write to the same memory.
  enum class Sharing : std::uint8_t { none, children };

  // No bytes.
  Scratch() = default;
  // Zeros, aligned for any element. The room on the disk is reserved at once, so that writing does not fail
  // later. Errors: io -- there is no room.
  static Result<Scratch> make(std::uint64_t bytes, Sharing sharing = Sharing::none);
  Scratch(Scratch&& other) noexcept
      : bytes_(std::exchange(other.bytes_, {})), kind_(std::exchange(other.kind_, Kind::none)) {}
  Scratch& operator=(Scratch&& other) noexcept;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();

  std::byte* data() const { return bytes_.data(); }
  std::span<std::byte> bytes() const { return bytes_; }
  explicit operator bool() const { return kind_ != Kind::none; }
  bool is_mapped() const { return kind_ == Kind::file; }

 private:
  enum class Kind : std::uint8_t { none, heap, shared, file };
  Scratch(std::span<std::byte> bytes, Kind kind) : bytes_(bytes), kind_(kind) {}
  static Result<Scratch> make_file(std::uint64_t bytes);
  std::span<std::byte> bytes_;
  Kind kind_ = Kind::none;
};

}  // namespace opdump
