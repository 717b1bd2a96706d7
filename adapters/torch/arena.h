// Memory that is given back at once. Each call of an operator has arguments, of which most need no call of
// malloc. std::pmr would serve, but programs with an older libstdc++ lack it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <type_traits>
#include <vector>

namespace opdump::torch_adapter {

class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  template <typename T>
  T* make(std::size_t count) {
    static_assert(std::is_trivial_v<T> && alignof(T) <= kAlignment);
    T* const first = reinterpret_cast<T*>(take(count * sizeof(T)));
    std::fill_n(first, count, T{});
    return first;
  }

  // A copy that ends with 0.
  const char* keep(std::string_view text) {
    char* const copy = make<char>(text.size() + 1);
    if (!text.empty()) std::memcpy(copy, text.data(), text.size());
    return copy;
  }

 private:
  static constexpr std::size_t kAlignment = alignof(std::max_align_t);

  std::byte* take(std::size_t size) {
    size = (size + kAlignment - 1) / kAlignment * kAlignment;
    if (size > bytes_.size() - used_) return more_.emplace_back(new std::byte[size]).get();
    used_ += size;
    return bytes_.data() + used_ - size;
  }

  alignas(kAlignment) std::array<std::byte, 2048> bytes_;
  std::size_t used_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> more_;
};

}  // namespace opdump::torch_adapter
