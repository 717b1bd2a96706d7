// What a file is that is not what was expected, for messages.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace opdump {

// So many bytes of a file are enough for recognise_content().
inline constexpr std::size_t kContentBytes = 512;

// "a gzip archive", "an offline model of CANN (.om)", "a table as text (CSV)" by the first bytes; empty if
// they are those of nothing that is known, or may be JSON.
std::string_view recognise_content(std::string_view first_bytes);

// "it is a gzip archive", and of what is not recognised whether it is text; empty if it is not.
std::string describe_content(std::span<const std::byte> first_bytes);

// What is wrong with a file, and what it is if that can be said: "MESSAGE; it is a gzip archive".
std::string with_content(std::string message, std::span<const std::byte> first_bytes);

}  // namespace opdump
