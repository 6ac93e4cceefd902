#include "cloudsim/http/server.hpp"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <thread>

#include "base/ascii.hpp"
#include "base/error.hpp"

namespace fastgpu::cloudsim {

struct Server::State {
  Handler handler;
  MHD_Daemon* daemon = nullptr;
};

namespace {

/// The body of a reply that is being sent.
struct Outgoing {
  Reply reply;
  std::size_t limit;  ///< The number of bytes to send.
};

MHD_Result keep_header(void* target, MHD_ValueKind, const char* name, const char* value) {
  static_cast<Headers*>(target)->emplace_back(ascii_lower(name), value == nullptr ? "" : value);
  return MHD_YES;
}

void* begin_request(void*, const char* uri, MHD_Connection*) {
  auto request = std::make_unique<Request>();
  const std::string whole = uri;
  const std::size_t mark = whole.find('?');
  request->path = whole.substr(0, mark);
  if (mark != std::string::npos) request->query = whole.substr(mark + 1);
  return request.release();
}

void end_request(void*, MHD_Connection*, void** request, MHD_RequestTerminationCode) {
  delete static_cast<Request*>(*request);
  *request = nullptr;
}

ssize_t send_part(void* target, std::uint64_t position, char* buffer, std::size_t room) {
  const auto& outgoing = *static_cast<Outgoing*>(target);
  const std::size_t at = std::size_t(position);
  if (at >= outgoing.limit)
    return outgoing.limit < outgoing.reply.body.size() ? MHD_CONTENT_READER_END_WITH_ERROR
                                                       : MHD_CONTENT_READER_END_OF_STREAM;
  if (outgoing.reply.delivery == Delivery::drip) room = 1;
  std::this_thread::sleep_for(outgoing.reply.pause);
  const std::size_t size = std::min(room, outgoing.limit - at);
  outgoing.reply.body.copy(buffer, size, at);
  return ssize_t(size);
}

void free_outgoing(void* target) {
  delete static_cast<Outgoing*>(target);
}

std::string peer_of(MHD_Connection* connection) {
  const MHD_ConnectionInfo* info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  if (info == nullptr || info->client_addr->sa_family != AF_INET) return {};
  char text[INET_ADDRSTRLEN] = {};
  inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(info->client_addr)->sin_addr, text,
            sizeof text);
  return text;
}

/// Makes the close of the connection a reset, not an orderly end.
MHD_Result reset(MHD_Connection* connection) {
  const MHD_ConnectionInfo* info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  if (info != nullptr)
    setsockopt(info->connect_fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  return MHD_NO;
}

MHD_Result send(MHD_Connection* connection, Reply reply) {
  if (reply.delivery == Delivery::reset) return reset(connection);
  const std::size_t size = reply.body.size();
  const std::size_t limit = reply.delivery == Delivery::half ? size / 2 : size;
  const unsigned status = unsigned(reply.status);
  const std::string type = reply.content_type;
  const Headers headers = reply.headers;
  auto outgoing = std::make_unique<Outgoing>(Outgoing{std::move(reply), limit});
  MHD_Response* response =
      MHD_create_response_from_callback(size, 4096, send_part, outgoing.release(), free_outgoing);
  MHD_add_response_header(response, "Content-Type", type.c_str());
  for (const auto& [name, value] : headers)
    MHD_add_response_header(response, name.c_str(), value.c_str());
  const MHD_Result queued = MHD_queue_response(connection, status, response);
  MHD_destroy_response(response);
  return queued;
}

MHD_Result handle(void* target, MHD_Connection* connection, const char*, const char* method,
                  const char*, const char* data, std::size_t* size, void** kept) noexcept try {
  auto& request = *static_cast<Request*>(*kept);
  if (request.method.empty()) {
    request.method = method;
    MHD_get_connection_values(connection, MHD_HEADER_KIND, keep_header, &request.headers);
    return MHD_YES;
  }
  if (*size > 0) {
    request.body.append(data, *size);
    *size = 0;
    return MHD_YES;
  }
  return send(connection,
              static_cast<Server::Handler*>(target)->operator()(peer_of(connection), request));
} catch (const std::exception& e) {
  return send(connection, Reply{500, "text/plain", std::string("cloudsim: ") + e.what()});
}

/// Large, because some vendors' kits send user data in the URL.
constexpr std::size_t kLongestHead = 256 * 1024;

}  // namespace

Server::Server(const std::string& where, std::uint16_t port, Handler handler)
    : state_(std::make_unique<State>()) {
  state_->handler = std::move(handler);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (inet_pton(AF_INET, where.c_str(), &address.sin_addr) != 1)
    throw Error(ErrorKind::usage, "'" + where + "' is no address to listen on");
  state_->daemon = MHD_start_daemon(
      MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL, port, nullptr,
      nullptr, handle, &state_->handler, MHD_OPTION_SOCK_ADDR, &address,
      MHD_OPTION_URI_LOG_CALLBACK, begin_request, nullptr, MHD_OPTION_NOTIFY_COMPLETED, end_request,
      nullptr, MHD_OPTION_LISTENING_ADDRESS_REUSE, 1U, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
      kLongestHead, MHD_OPTION_END);
  if (state_->daemon == nullptr)
    throw system_error("listening on " + where + ":" + std::to_string(port), errno);
}

Server::~Server() {
  MHD_stop_daemon(state_->daemon);
}

std::uint16_t Server::port() const noexcept {
  return MHD_get_daemon_info(state_->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
}

}  // namespace fastgpu::cloudsim
