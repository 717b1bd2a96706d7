// Talk for people. The library never prints: it hands lines to a sink that its host gave it.
#pragma once

#include <functional>
#include <string_view>

namespace opdump {

enum class LogLevel { info, warning, error };

// Called with one line, no line feed. May be called from any thread; must not throw. An empty sink is
// silence.
using LogSink = std::function<void(LogLevel, std::string_view)>;

}  // namespace opdump
