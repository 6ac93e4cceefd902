// Adds a line of ours to ~/.ssh/authorized_keys, and removes it. The rest of the file is the
// owner's and stays unchanged, byte for byte.
#pragma once

#include <string>
#include <string_view>

namespace fastgpu::agent {

/// Adds or removes a line of ours, "ssh-ed25519 AAAA... MARK". The mark is its last word, and
/// identifies it. Pure.
std::string with_line(std::string_view text, std::string_view line);
std::string without_line(std::string_view text, std::string_view mark);

/// Throws the errors of add_authorized_key for missing rights, and changes nothing.
void check_authorized_keys();

/// Makes the file and its directory if they are missing. Symbolic links, modes and owners stay; a
/// reader sees the old text or the new one. Does nothing if the line is there. Throws denied if the
/// file belongs to another user, and as system_error does.
void add_authorized_key(std::string_view line);

/// Restores the file's earlier content; on a full disk the line becomes a comment. Does nothing if
/// the line is gone.
void remove_authorized_key(std::string_view mark);

}  // namespace fastgpu::agent
