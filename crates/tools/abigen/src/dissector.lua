-- Nothing here is only in one of the versions of Lua that Wireshark has had (5.2 to 5.4).

local function all_fields(protocol)
  local found = {}
  for _, structure in pairs(structures) do
    for _, field in ipairs(structure.protocol == protocol and structure.fields or {}) do
      found[#found + 1] = field.field
      for _, flag in ipairs(field.flags or {}) do found[#found + 1] = flag end
    end
  end
  return found
end

local seastar = Proto("seastar", "SeaStar packet")
local portals = Proto("portals", "Portals header")
local malformed = ProtoExpert.new("seastar.malformed", "Shorter than its header says",
  expert.group.MALFORMED, expert.severity.ERROR)
seastar.fields = all_fields("seastar")
seastar.experts = { malformed }
portals.fields = all_fields("portals")
local control = Proto("control", "SeaStar control packet")
control.fields = all_fields("control")

-- Shows the fields of a structure, and returns the values of the scalar ones by name.
local function show(structure, buffer, tree)
  local values = {}
  for _, field in ipairs(structure.fields) do
    local range = buffer(field.offset, field.size)
    if field.scalar then
      local item = tree:add_le(field.field, range)
      for _, flag in ipairs(field.flags or {}) do item:add_le(flag, range) end
      values[field.name] = field.size == 8 and range:le_uint64() or range:le_uint()
    else
      tree:add(field.field, range)
    end
  end
  return values
end

local function has(flags, bit) return flags % (2 * bit) >= bit end

-- Firmware to firmware (firmware.overflow).
local function control_packet(buffer, pinfo, tree)
  local value = show(structures.control_packet, buffer, tree:add(control, buffer))
  local name = enums.control_op[value.op] or ("operation " .. value.op)
  pinfo.cols.info = string.format("%s %d", name, value.number)
end

local function header(buffer, pinfo, tree)
  local value = show(structures.portals_header, buffer, tree:add(portals, buffer))
  local name = enums.portals_op[value.op] or ("operation " .. value.op)
  pinfo.cols.protocol = "Portals"
  pinfo.cols.info = string.format("%s, %d bytes, %d:%d to %d:%d, match bits 0x%s", name, value.length,
    value.source_nid, value.source_pid, value.target_nid, value.target_pid, value.match_bits:tohex())
end

function seastar.dissector(buffer, pinfo, tree)
  local header_size, trailer_size = structures.packet_header.size, structures.packet_trailer.size
  local shown = tree:add(seastar, buffer())
  if buffer:len() < header_size then
    shown:add_proto_expert_info(malformed)
    return
  end
  local value = show(structures.packet_header, buffer(0, header_size), shown)
  pinfo.cols.protocol = "SeaStar"
  pinfo.cols.src = tostring(value.source)
  pinfo.cols.dst = tostring(value.dest)
  pinfo.cols.info = string.format("Message %d, %d bytes", value.message, value.size)
  local last = has(value.flags, enums.packet_flag.LAST)
  local trailer = header_size + value.size
  if buffer:len() < trailer + (last and trailer_size or 0) then
    shown:add_proto_expert_info(malformed)
    return
  end
  if last then show(structures.packet_trailer, buffer(trailer, trailer_size), shown) end
  if value.size == 0 then return end
  local payload = buffer(header_size, value.size)
  local first = has(value.flags, enums.packet_flag.FIRST)
  if has(value.flags, enums.packet_flag.CONTROL) and value.size == structures.control_packet.size then
    control_packet(payload, pinfo, tree)
  elseif first and value.size == structures.portals_header.size then
    header(payload, pinfo, tree)
  else
    Dissector.get("data"):call(payload:tvb(), pinfo, tree)
  end
end

-- Link type 147 of the file.
DissectorTable.get("wtap_encap"):add(wtap.USER0, seastar)
