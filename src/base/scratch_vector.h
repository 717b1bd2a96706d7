// Very many small things in a row: beyond some megabytes they lie in files that the system may put on the
// disk (base/scratch.h).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/resident.h"
#include "base/result.h"
#include "base/scratch.h"

namespace opdump {

// Of trivially copyable things.
template <typename T>
class ScratchVector {
 public:
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // Errors: io -- there is no room.
  Result<> push_back(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (size_ == blocks_.size() * kInBlock) {
      OPDUMP_TRY(Scratch block, Scratch::make(kInBlock * sizeof(T)));
      blocks_.push_back(std::move(block));
    }
    *place(size_++) = value;
    return ok();
  }
  // Errors: io -- there is no room. It is then shorter.
  Result<> resize(std::size_t size, const T& value) {
    while (size_ < size) OPDUMP_CHECK_OK(push_back(value));
    size_ = size;
    return ok();
  }

  const T& operator[](std::size_t i) const { return *place(i); }
  T& operator[](std::size_t i) { return *place(i); }

 private:
  // Smaller mappings are not given back: see note_mapping.
  static constexpr std::size_t kInBlock = std::bit_ceil(kLeastMapping / sizeof(T));
  T* place(std::size_t i) const { return reinterpret_cast<T*>(blocks_[i / kInBlock].data()) + i % kInBlock; }
  std::vector<Scratch> blocks_;
  std::size_t size_ = 0;
};

}  // namespace opdump
