// Adds and removes our lines in ~/.ssh/authorized_keys. The rest of the file is the owner's and
// stays unchanged, byte for byte.
#pragma once

#include <string>
#include <string_view>

namespace fastgpu::agent {

/// Return `text` with or without a line of ours, "ssh-ed25519 AAAA... MARK". The mark, its last
/// word, identifies it. Pure.
std::string with_line(std::string_view text, std::string_view line);
std::string without_line(std::string_view text, std::string_view mark);

/// Throws the errors of add_authorized_key() for missing rights. Changes nothing.
void check_authorized_keys();

/// Adds a line, and creates the file and its directory if they are missing. Symbolic links, modes
/// and owners stay, and readers see either the old text or the new one. Does nothing if the line
/// exists. Throws denied if the file belongs to another user, and the errors of system_error().
void add_authorized_key(std::string_view line);

/// Removes the line with this mark and restores the earlier content. On a full disk the line
/// becomes a comment. Does nothing without such a line.
void remove_authorized_key(std::string_view mark);

}  // namespace fastgpu::agent
