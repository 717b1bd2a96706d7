#include "format/graphs/proto_text.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace opdump::format {
namespace {

using FieldKind = ProtoField::Kind;

bool is_octal(char c) { return c >= '0' && c <= '7'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '.' || c == '-' || c == '+'; }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

void append_utf8(std::string& out, std::uint32_t point) {
  const auto add = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (point < 0x80) return add(point);
  if (point < 0x800) {
    add(0xC0 | point >> 6);
  } else {
    if (point < 0x10000) {
      add(0xE0 | point >> 12);
    } else {
      add(0xF0 | point >> 18);
      add(0x80 | (point >> 12 & 0x3F));
    }
    add(0x80 | (point >> 6 & 0x3F));
  }
  add(0x80 | (point & 0x3F));
}

class ProtoTextParser {
 public:
  explicit ProtoTextParser(std::string_view text) : text_(text) {}

  Result<ProtoMessage> parse() {
    OPDUMP_TRY(ProtoMessage message, parse_fields('\0', 0));
    return message;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0, line_start_ = 0, count_ = 0;
  std::uint32_t line_ = 1;

  bool at_end() const { return at_ == text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[at_]; }

  void skip_blanks() {
    for (; !at_end(); ++at_) {
      const char c = text_[at_];
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
        if (at_end()) return;
      }
      if (text_[at_] == '\n') {
        ++line_;
        line_start_ = at_ + 1;
      } else if (c != ' ' && c != '\t' && c != '\r' && c != '\v' && c != '\f') {
        return;
      }
    }
  }

  bool take(char c) {
    skip_blanks();
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  Error error(Code code, std::string_view what) const {
    return {code,
            std::to_string(line_) + ":" + std::to_string(at_ - line_start_ + 1) + ": " + std::string(what)};
  }

  // Up to `end`, which is taken; '\0' is the end of the text.
  Result<ProtoMessage> parse_fields(char end, int depth) {
    if (depth > kMaxProtoTextDepth)
      return error(Code::limit,
                   "messages are nested more than " + std::to_string(kMaxProtoTextDepth) + " deep");
    ProtoMessage message;
    while (true) {
      skip_blanks();
      if (at_end()) break;
      if (end != '\0' && take(end)) return message;
      OPDUMP_CHECK_OK(parse_field(message, depth));
      if (!take(';')) take(',');
    }
    if (end != '\0') return error(Code::corrupt, std::string("the text ends; expected ") + end);
    return message;
  }

  Result<std::string> parse_name() {
    const bool is_bracketed = take('[');
    const std::size_t start = at_;
    if (is_bracketed)
      at_ = std::min(text_.find_first_of("]\n", at_), text_.size());
    else if (is_letter(peek()))
      while (!at_end() && (is_letter(peek()) || is_digit(peek()))) ++at_;
    if (at_ == start) return error(Code::corrupt, "expected the name of a field");
    std::string name(text_.substr(start, at_ - start));
    if (!is_bracketed) return name;
    if (!take(']')) return error(Code::corrupt, "expected ]");
    return "[" + name + "]";
  }

  Result<> parse_field(ProtoMessage& message, int depth) {
    const std::uint32_t line = line_;
    OPDUMP_TRY(const std::string name, parse_name());
    const bool has_colon = take(':');
    skip_blanks();
    if (peek() != '[') return parse_value(message, name, line, has_colon, depth);
    ++at_;
    if (take(']')) return ok();
    do {
      OPDUMP_CHECK_OK(parse_value(message, name, line, has_colon, depth));
    } while (take(','));
    return take(']') ? ok() : error(Code::corrupt, "expected , or ]");
  }

  Result<> parse_value(ProtoMessage& message, const std::string& name, std::uint32_t line, bool has_colon,
                       int depth) {
    if (++count_ > kMaxProtoTextFields)
      return error(Code::limit, "there are more than " + std::to_string(kMaxProtoTextFields) + " fields");
    ProtoField field{.name = name, .line = line, .value = {}, .fields = {}};
    skip_blanks();
    const char c = peek();
    if (c == '{' || c == '<') {
      ++at_;
      field.kind = FieldKind::message;
      OPDUMP_TRY(field.fields, parse_fields(c == '{' ? '}' : '>', depth + 1));
    } else if (!has_colon) {
      return error(Code::corrupt, "expected : or { after " + name);
    } else if (c == '"' || c == '\'') {
      field.kind = FieldKind::string;
      OPDUMP_CHECK_OK(parse_string(field.value));
    } else {
      const std::size_t start = at_;
      while (!at_end() && is_word(peek())) ++at_;
      if (at_ == start) return error(Code::corrupt, "expected a value for " + name);
      field.value = text_.substr(start, at_ - start);
    }
    message.push_back(std::move(field));
    return ok();
  }

  // Pieces that follow each other are one string.
  Result<> parse_string(std::string& out) {
    for (char quote = peek(); quote == '"' || quote == '\''; skip_blanks(), quote = peek()) {
      ++at_;
      while (peek() != quote || at_end()) {
        if (at_end() || peek() == '\n') return error(Code::corrupt, "the string does not end in its line");
        if (peek() == '\\') {
          OPDUMP_CHECK_OK(parse_escape(out));
          continue;
        }
        const std::size_t start = at_;
        while (!at_end() && peek() != quote && peek() != '\\' && peek() != '\n') ++at_;
        out.append(text_.substr(start, at_ - start));
      }
      ++at_;
    }
    return ok();
  }

  Result<> parse_escape(std::string& out) {
    constexpr std::string_view kLetters = "abfnrtv\\?'\"", kBytes = "\a\b\f\n\r\t\v\\?'\"";
    ++at_;
    const char c = peek();
    if (const auto place = kLetters.find(c); !at_end() && place != std::string_view::npos) {
      out += kBytes[place];
      ++at_;
      return ok();
    }
    if (is_octal(c)) {
      unsigned byte = 0;
      for (int i = 0; i < 3 && is_octal(peek()); ++i)
        byte = byte * 8 + static_cast<unsigned>(text_[at_++] - '0');
      out += static_cast<char>(byte);
      return ok();
    }
    const int width = c == 'x' || c == 'X' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    const std::optional<std::uint32_t> number = width > 0 ? parse_hex(width) : std::nullopt;
    if (!number || *number > 0x10FFFF) return error(Code::corrupt, "the string has an unknown escape");
    if (width == 2)
      out += static_cast<char>(*number);
    else
      append_utf8(out, *number);
    return ok();
  }

  // Up to `width` digits after the letter; of \u and \U exactly as many.
  std::optional<std::uint32_t> parse_hex(int width) {
    ++at_;
    std::uint32_t number = 0;
    int count = 0;
    for (; count < width && hex_digit(peek()) >= 0; ++count)
      number = number * 16 + static_cast<std::uint32_t>(hex_digit(text_[at_++]));
    return count == width || (width == 2 && count > 0) ? std::optional(number) : std::nullopt;
  }
};

void append_escaped(std::string& out, std::string_view bytes) {
  constexpr std::string_view kBytes = "\n\r\t\"'\\", kLetters = "nrt\"'\\";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (const auto place = kBytes.find(c); place != std::string_view::npos) {
      out += '\\';
      out += kLetters[place];
    } else if (byte < 0x20 || byte >= 0x7F) {
      out += '\\';
      for (const int shift : {6, 3, 0}) out += static_cast<char>('0' + (byte >> shift & 7));
    } else {
      out += c;
    }
  }
}

}  // namespace

bool ProtoField::operator==(const ProtoField& other) const {
  return name == other.name && kind == other.kind && value == other.value && fields == other.fields;
}

Result<ProtoMessage> parse_proto_text(std::string_view text) { return ProtoTextParser(text).parse(); }

std::string print_proto_text(const ProtoMessage& message) {
  std::string text;
  for (const ProtoField& field : message) append_proto_text(text, field, 0);
  return text;
}

void append_proto_text(std::string& out, const ProtoField& field, std::size_t indent) {
  out.append(indent, ' ').append(field.name);
  if (field.kind == FieldKind::message) {
    out.append(" {\n");
    for (const ProtoField& inner : field.fields) append_proto_text(out, inner, indent + 2);
    out.append(indent, ' ').append("}\n");
  } else if (field.kind == FieldKind::string) {
    out.append(": \"");
    append_escaped(out, field.value);
    out.append("\"\n");
  } else {
    out.append(": ").append(field.value).append("\n");
  }
}

const ProtoField* find_first(const ProtoMessage& message, std::string_view name) {
  const auto found = std::ranges::find(message, name, &ProtoField::name);
  return found == message.end() ? nullptr : &*found;
}

const ProtoField* find_last(const ProtoMessage& message, std::string_view name) {
  const auto found = std::find_if(message.rbegin(), message.rend(),
                                  [&](const ProtoField& field) { return field.name == name; });
  return found == message.rend() ? nullptr : &*found;
}

ProtoField proto_word(std::string_view name, std::string value) {
  return {.name = std::string(name), .value = std::move(value), .fields = {}};
}
ProtoField proto_number(std::string_view name, std::int64_t value) {
  return proto_word(name, std::to_string(value));
}
ProtoField proto_bool(std::string_view name, bool value) {
  return proto_word(name, value ? "true" : "false");
}
ProtoField proto_string(std::string_view name, std::string value) {
  return {.name = std::string(name), .kind = FieldKind::string, .value = std::move(value), .fields = {}};
}
ProtoField proto_message(std::string_view name, ProtoMessage fields) {
  return {.name = std::string(name), .kind = FieldKind::message, .value = {}, .fields = std::move(fields)};
}

}  // namespace opdump::format
#include "base/text/text.h"
