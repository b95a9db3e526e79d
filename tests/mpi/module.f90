! The module mpi: what it declares, called with arguments of many types and shapes.
program module
  use mpi
  use, intrinsic :: iso_c_binding, only: c_f_pointer, c_ptr
  implicit none

  type particle
    sequence
    integer :: kind
    real :: place(3)
    double precision :: mass
    logical :: charged
    character(len=4) :: name
  end type particle

  integer :: rank, size, error, said_lines = 0
  character(len=120) :: said(200)
  integer, parameter :: wide = selected_int_kind(18)

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, size, error)
  call kinds()
  call structures()
  call sections()
  call requests()
  call collectives()
  call operations()
  call groups()
  call attributes()
  call texts()
  call infos()
  call memory()
  call print_all()
  call MPI_Finalize(error)

contains
  include 'say.inc'

  ! Every kind of number has a type; a type for a kind is found by its size.
  subroutine kinds()
    integer :: bytes, datatype, code, status(MPI_STATUS_SIZE)
    integer(wide) :: large
    integer(1) :: small(4)
    real(8) :: real_number
    complex(8) :: complex_number
    character(len=3) :: letters
    large = huge(large) - rank
    call MPI_Allreduce(MPI_IN_PLACE, large, 1, MPI_INTEGER8, MPI_MIN, MPI_COMM_WORLD, error)
    call say_logicals('large', [large == huge(large) - (size - 1)])
    small = int([1, 2, 3, 4] * (rank + 1), 1)
    call MPI_Allreduce(MPI_IN_PLACE, small, 4, MPI_INTEGER1, MPI_BXOR, MPI_COMM_WORLD, error)
    call say_integers('small', int(small))
    call MPI_Sizeof(real_number, bytes, error)
    call MPI_Type_match_size(MPI_TYPECLASS_REAL, bytes, datatype, error)
    real_number = rank + 0.5d0
    call MPI_Allreduce(MPI_IN_PLACE, real_number, 1, datatype, MPI_SUM, MPI_COMM_WORLD, error)
    call say_reals('matched', [real_number])
    call MPI_Sizeof(small, bytes, code)
    call say_integers('bytes', [bytes, code])
    complex_number = cmplx(0, rank, 8)
    call MPI_Bcast(complex_number, 1, MPI_COMPLEX16, size - 1, MPI_COMM_WORLD, error)
    call say_reals('complex', [aimag(complex_number)])
    letters = 'abc'
    call MPI_Sendrecv_replace(letters(2:3), 2, MPI_CHARACTER, mod(rank + 1, size), 5, &
      mod(rank + size - 1, size), 5, MPI_COMM_WORLD, status, error)
    call say(letters)
    call MPI_Type_size(MPI_LOGICAL, bytes, error)
    call MPI_Type_size(MPI_2DOUBLE_PRECISION, code, error)
    call say_integers('sizes', [bytes, code])
  end subroutine kinds

  ! A derived type of Fortran as a structure, with room between elements of an array.
  subroutine structures()
    type(particle) :: crowd(3), two(2)
    integer :: datatype, resized, lengths(5), types(5), i
    integer(kind=MPI_ADDRESS_KIND) :: base, places(5), extent, lower, far
    call MPI_Get_address(crowd(1), base, error)
    call MPI_Get_address(crowd(1)%kind, places(1), error)
    call MPI_Get_address(crowd(1)%place, places(2), error)
    call MPI_Get_address(crowd(1)%mass, places(3), error)
    call MPI_Get_address(crowd(1)%charged, places(4), error)
    call MPI_Get_address(crowd(1)%name, places(5), error)
    do i = 1, 5
      places(i) = MPI_Aint_diff(places(i), base)
    end do
    call MPI_Get_address(crowd(2), far, error)
    lengths = [1, 3, 1, 1, 4]
    types = [MPI_INTEGER, MPI_REAL, MPI_DOUBLE_PRECISION, MPI_LOGICAL, MPI_CHARACTER]
    call MPI_Type_create_struct(5, lengths, places, types, datatype, error)
    call MPI_Type_create_resized(datatype, 0_MPI_ADDRESS_KIND, MPI_Aint_diff(far, base), resized, &
      error)
    call MPI_Type_commit(resized, error)
    call MPI_Type_get_extent(resized, lower, extent, error)
    call MPI_Type_size(resized, i, error)
    call say_integers('structure', [int(lower), int(extent), i])
    do i = 1, 3
      crowd(i) = particle(i + 10 * rank, [1., 2., 3.] * rank, 0.5d0 * i, mod(i + rank, 2) == 0, &
        'name')
    end do
    call MPI_Bcast(crowd, 3, resized, size - 1, MPI_COMM_WORLD, error)
    call say_integers('kinds', crowd%kind)
    call say_reals('places', dble([crowd(2)%place, real(crowd(3)%mass)]))
    call say_logicals('charged', crowd%charged)
    call say(crowd(3)%name)
    two = crowd(1:2)
    call MPI_Sendrecv(two, 2, resized, mod(rank + 1, size), 0, crowd(2), 2, resized, &
      mod(rank + size - 1, size), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    call say_integers('moved', crowd%kind)
    call MPI_Type_free(resized, error)
    call MPI_Type_free(datatype, error)
    call say_logicals('freed', [resized == MPI_DATATYPE_NULL, datatype == MPI_DATATYPE_NULL])
  end subroutine structures

  ! Parts of arrays: by types, and by a copy that the compiler makes.
  subroutine sections()
    integer :: matrix(4, 6), row, block, i, j, got(6), status(MPI_STATUS_SIZE), count
    integer :: inner(2, 2)
    matrix = reshape([((100 * rank + 10 * i + j, i = 1, 4), j = 1, 6)], [4, 6])
    call MPI_Type_vector(6, 1, 4, MPI_INTEGER, row, error)
    call MPI_Type_commit(row, error)
    call MPI_Sendrecv(matrix(2, 1), 1, row, mod(rank + 1, size), 1, got, 6, MPI_INTEGER, &
      mod(rank + size - 1, size), 1, MPI_COMM_WORLD, status, error)
    call MPI_Get_count(status, MPI_INTEGER, count, error)
    call say_integers('row', [got, count])
    call MPI_Type_create_subarray(2, [4, 6], [2, 2], [1, 3], MPI_ORDER_FORTRAN, MPI_INTEGER, &
      block, error)
    call MPI_Type_commit(block, error)
    call MPI_Sendrecv(matrix, 1, block, rank, 2, inner, 4, MPI_INTEGER, rank, 2, MPI_COMM_WORLD, &
      MPI_STATUS_IGNORE, error)
    call say_integers('block', [inner])
    call MPI_Allreduce(matrix(1, :), got, 6, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, error)
    call say_integers('copied', got)
    call MPI_Bcast(matrix(:, 2:6:2), 12, MPI_INTEGER, size - 1, MPI_COMM_WORLD, error)
    call say_integers('columns', [matrix(1, :)])
    call MPI_Type_free(row, error)
    call MPI_Type_free(block, error)
  end subroutine sections

  subroutine requests()
    integer :: list(4), states(MPI_STATUS_SIZE, 4), status(MPI_STATUS_SIZE), numbers(4), flags(4)
    integer :: i, index, next, last, number
    logical :: flag, cancelled
    next = mod(rank + 1, size)
    last = mod(rank + size - 1, size)
    numbers = 0
    do i = 1, 4
      call MPI_Recv_init(numbers(i), 1, MPI_INTEGER, last, i, MPI_COMM_WORLD, list(i), error)
    end do
    call MPI_Startall(4, list, error)
    do i = 4, 1, -1
      call MPI_Ssend(10 * rank + i, 0, MPI_INTEGER, MPI_PROC_NULL, i, MPI_COMM_WORLD, error)
      call MPI_Isend([10 * rank + i], 1, MPI_INTEGER, next, i, MPI_COMM_WORLD, flags(i), error)
      call MPI_Wait(flags(i), MPI_STATUS_IGNORE, error)
    end do
    call MPI_Waitall(4, list, states, error)
    call say_integers('persistent', [numbers, states(MPI_TAG, :)])
    call MPI_Testall(4, list, flag, MPI_STATUSES_IGNORE, error)
    call say_logicals('inactive', [flag, list(1) /= MPI_REQUEST_NULL])
    do i = 1, 4
      call MPI_Request_free(list(i), error)
    end do
    call say_logicals('freed', list == MPI_REQUEST_NULL)
    call MPI_Irecv(number, 1, MPI_INTEGER, last, 99, MPI_COMM_WORLD, list(1), error)
    call MPI_Cancel(list(1), error)
    call MPI_Wait(list(1), status, error)
    call MPI_Test_cancelled(status, cancelled, error)
    call say_logicals('cancelled', [cancelled])
    list = MPI_REQUEST_NULL
    call MPI_Ibarrier(MPI_COMM_WORLD, list(3), error)
    call MPI_Waitany(4, list, index, status, error)
    call say_integers('barrier', [index])
    call MPI_Testany(4, list, index, flag, status, error)
    call say_logicals('nothing left', [flag, index == MPI_UNDEFINED])
    call MPI_Issend(rank, 1, MPI_INTEGER, rank, 3, MPI_COMM_WORLD, list(1), error)
    call MPI_Probe(MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, status, error)
    call MPI_Mprobe(rank, 3, MPI_COMM_WORLD, number, status, error)
    call MPI_Mrecv(index, 1, MPI_INTEGER, number, status, error)
    call MPI_Wait(list(1), status, error)
    call say_logicals('matched', [index == rank, number == MPI_MESSAGE_NULL])
  end subroutine requests

  subroutine collectives()
    integer :: i, counts(size), places(size), one(size), all(size), types(size), bytes(size)
    double precision :: part, parts(size)
    integer :: triangle(size * (size + 1) / 2), mine(rank + 1), request
    one = [(100 * rank + i, i = 0, size - 1)]
    call MPI_Alltoall(one, 1, MPI_INTEGER, all, 1, MPI_INTEGER, MPI_COMM_WORLD, error)
    call say_integers('alltoall', all)
    counts = [(i, i = 1, size)]
    places = [(i * (i - 1) / 2, i = 1, size)]
    mine = rank
    call MPI_Allgatherv(mine, rank + 1, MPI_INTEGER, triangle, counts, places, MPI_INTEGER, &
      MPI_COMM_WORLD, error)
    call say_integers('allgatherv', triangle)
    types = MPI_INTEGER
    counts = 1
    bytes = [(4 * i, i = 0, size - 1)]
    call MPI_Ialltoallw(one, counts, bytes, types, all, counts, bytes(size:1:-1), types, &
      MPI_COMM_WORLD, request, error)
    types = MPI_DATATYPE_NULL
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    call say_integers('alltoallw', all)
    part = 1d0 / (rank + 1)
    call MPI_Gather(part, 1, MPI_DOUBLE_PRECISION, parts, 1, MPI_DOUBLE_PRECISION, 0, &
      MPI_COMM_WORLD, error)
    if (rank == 0) call say_reals('gathered', parts)
    call MPI_Scan(part, parts(1), 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    call say_reals('scan', parts(1:1))
    call MPI_Reduce_scatter_block(MPI_IN_PLACE, one, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, &
      error)
    call say_integers('reduce_scatter', one(1:1))
    if (rank == size - 1) parts = [(dble(i), i = 1, size)]
    call MPI_Scatter(parts, 1, MPI_DOUBLE_PRECISION, part, 1, MPI_DOUBLE_PRECISION, size - 1, &
      MPI_COMM_WORLD, error)
    call say_reals('scattered', [part])
  end subroutine collectives

  ! An operation of the program that does not commute: products of matrices.
  subroutine operations()
    external :: multiply
    integer :: op, datatype
    logical :: commutes
    double precision :: a(2, 2), product(2, 2)
    call MPI_Type_contiguous(4, MPI_DOUBLE_PRECISION, datatype, error)
    call MPI_Type_commit(datatype, error)
    call MPI_Op_create(multiply, .false., op, error)
    call MPI_Op_commutative(op, commutes, error)
    call MPI_Op_commutative(MPI_SUM, commutes, error)
    a = reshape([1d0, 1d0, dble(rank), 1d0], [2, 2])
    call MPI_Allreduce(a, product, 1, datatype, op, MPI_COMM_WORLD, error)
    call say_reals('product', [product])
    call say_logicals('commutes', [commutes])
    call MPI_Op_free(op, error)
    call MPI_Type_free(datatype, error)
  end subroutine operations

  subroutine groups()
    integer :: world, group, comm, new_rank, result, ranks(2), translated(2), n, ranges(3, 1)
    call MPI_Comm_group(MPI_COMM_WORLD, world, error)
    ranks = [size - 1, 0]
    n = min(2, size)
    call MPI_Group_incl(world, n, ranks, group, error)
    call MPI_Group_translate_ranks(group, n, [0, 1], world, translated, error)
    call say_integers('translated', translated(1:n))
    call MPI_Comm_create(MPI_COMM_WORLD, group, comm, error)
    if (comm /= MPI_COMM_NULL) then
      call MPI_Comm_rank(comm, new_rank, error)
      call say_integers('chosen', [new_rank])
      call MPI_Comm_free(comm, error)
    end if
    call MPI_Group_free(group, error)
    ranges(:, 1) = [0, size - 1, 2]
    call MPI_Group_range_incl(world, 1, ranges, group, error)
    call MPI_Group_size(group, n, error)
    call MPI_Group_rank(group, new_rank, error)
    call say_integers('range', [n, new_rank, MPI_UNDEFINED])
    call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), -rank, comm, error)
    call MPI_Comm_compare(comm, MPI_COMM_WORLD, result, error)
    call MPI_Comm_rank(comm, new_rank, error)
    call say_integers('split', [new_rank, result])
    call MPI_Comm_free(comm, error)
    call MPI_Group_free(group, error)
    call MPI_Group_free(world, error)
  end subroutine groups

  subroutine attributes()
    external :: copy_attribute, delete_attribute
    integer :: key, plain, comm, datatype, twin
    integer(kind=MPI_ADDRESS_KIND) :: value, extra
    logical :: found(4)
    extra = 1000
    call MPI_Comm_create_keyval(copy_attribute, delete_attribute, key, extra, error)
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, plain, extra, error)
    value = 2_wide**40 + rank
    call MPI_Comm_set_attr(MPI_COMM_WORLD, key, value, error)
    call MPI_Comm_set_attr(MPI_COMM_WORLD, plain, -value, error)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, error)
    call MPI_Comm_get_attr(comm, key, value, found(1), error)
    call say_integers('copied', [int(value - 2_wide**40)])
    call MPI_Comm_get_attr(comm, plain, value, found(2), error)
    call say_integers('plain', [int(-value - 2_wide**40)])
    call MPI_Comm_free(comm, error)
    call MPI_Comm_delete_attr(MPI_COMM_WORLD, plain, error)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, plain, value, found(3), error)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, value, found(4), error)
    call say_logicals('found', found)
    call MPI_Comm_delete_attr(MPI_COMM_WORLD, key, error)
    call MPI_Comm_free_keyval(key, error)
    call MPI_Comm_free_keyval(plain, error)
    call MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, key, extra, error)
    call MPI_Type_contiguous(2, MPI_REAL, datatype, error)
    call MPI_Type_set_attr(datatype, key, extra, error)
    call MPI_Type_dup(datatype, twin, error)
    call MPI_Type_get_attr(datatype, key, value, found(1), error)
    call MPI_Type_get_attr(twin, key, value, found(2), error)
    call say_logicals('of types', found(1:2))
    call MPI_Type_free(datatype, error)
    call MPI_Type_free(twin, error)
    call MPI_Type_free_keyval(key, error)
  end subroutine attributes

  subroutine texts()
    character(len=MPI_MAX_OBJECT_NAME) :: name
    character(len=10) :: short
    character(len=MPI_MAX_ERROR_STRING) :: message
    character(len=MPI_MAX_PROCESSOR_NAME) :: processor
    character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: version
    integer :: length, comm, versions(2)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, error)
    call MPI_Comm_set_name(comm, ' a name with blanks   ', error)
    name = repeat('x', len(name))
    call MPI_Comm_get_name(comm, name, length, error)
    call say('"' // trim(name) // '"')
    short = 'xxxxxxxxxx'
    call MPI_Comm_get_name(comm, short, length, error)
    call say('"' // short // '"')
    call say_integers('length', [length])
    call MPI_Comm_free(comm, error)
    call MPI_Type_get_name(MPI_DOUBLE_PRECISION, name, length, error)
    call say(name(1:length))
    call MPI_Error_string(MPI_ERR_TRUNCATE, message, length, error)
    call say_logicals('message', [length > 10, message(length:length) /= ' ', &
      message(length + 1:) == ' '])
    call MPI_Get_processor_name(processor, length, error)
    call say_logicals('processor', [length > 0, processor(length + 1:) == ' '])
    call MPI_Get_library_version(version, length, error)
    call say_logicals('library', [length > 0])
    call MPI_Get_version(versions(1), versions(2), error)
    call say_logicals('version', [versions(1) == MPI_VERSION, versions(2) == MPI_SUBVERSION])
  end subroutine texts

  subroutine infos()
    integer :: info, keys, length
    logical :: found
    character(len=20) :: value
    character(len=MPI_MAX_INFO_KEY) :: key
    call MPI_Info_create(info, error)
    call MPI_Info_set(info, '  colour ', ' dark blue  ', error)
    call MPI_Info_set(info, 'size', '17', error)
    call MPI_Info_get_nkeys(info, keys, error)
    call say_integers('keys', [keys])
    call MPI_Info_get(info, 'colour', 20, value, found, error)
    call say('"' // value // '"')
    call MPI_Info_get_valuelen(info, ' colour', length, found, error)
    call say_integers('length', [length])
    length = len(value)
    call MPI_Info_get_string(info, 'size', length, value, found, error)
    call say('"' // value // '"')
    call say_integers('length', [length])
    call MPI_Info_get(info, 'nothing', 20, value, found, error)
    call say_logicals('nothing', [found])
    call MPI_Info_get_nthkey(info, 1, key, error)
    call say(trim(key))
    call MPI_Info_free(info, error)
    call say_logicals('freed', [info == MPI_INFO_NULL])
  end subroutine infos

  ! Memory by a pointer of C, packing, and buffered messages.
  subroutine memory()
    type(c_ptr) :: base
    integer, pointer :: numbers(:)
    integer :: position, length, got(3)
    character(len=100) :: packed
    character(len=4) :: word
    integer :: buffer(1000)
    call MPI_Alloc_mem(int(40, MPI_ADDRESS_KIND), MPI_INFO_NULL, base, error)
    call c_f_pointer(base, numbers, [10])
    numbers = rank
    call MPI_Bcast(numbers, 10, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
    call say_integers('allocated', numbers(9:10))
    call MPI_Free_mem(numbers, error)
    position = 0
    call MPI_Pack([1, 2, 3], 3, MPI_INTEGER, packed, 100, position, MPI_COMM_WORLD, error)
    call MPI_Pack('word', 4, MPI_CHARACTER, packed, 100, position, MPI_COMM_WORLD, error)
    call MPI_Pack_size(3, MPI_INTEGER, MPI_COMM_WORLD, length, error)
    call say_logicals('packed', [position >= 16, length >= 12])
    position = 0
    call MPI_Unpack(packed, 100, position, got, 3, MPI_INTEGER, MPI_COMM_WORLD, error)
    call MPI_Unpack(packed, 100, position, word, 4, MPI_CHARACTER, MPI_COMM_WORLD, error)
    call say_integers(word, got)
    call MPI_Buffer_attach(buffer, 4000, error)
    call MPI_Bsend(got, 3, MPI_INTEGER, mod(rank + 1, size), 6, MPI_COMM_WORLD, error)
    call MPI_Recv(got, 3, MPI_INTEGER, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    call MPI_Buffer_detach(buffer, length, error)
    call say_integers('detached', [length])
  end subroutine memory
end program module

subroutine multiply(in, inout, length, datatype)
  implicit none
  integer :: length, datatype, i
  double precision :: in(2, 2, length), inout(2, 2, length)
  if (datatype == 0) stop 'no type'
  do i = 1, length
    inout(:, :, i) = matmul(in(:, :, i), inout(:, :, i))
  end do
end subroutine multiply

subroutine copy_attribute(comm, keyval, extra_state, value_in, value_out, flag, error)
  use mpi, only: MPI_ADDRESS_KIND, MPI_SUCCESS
  implicit none
  integer :: comm, keyval, error
  integer(kind=MPI_ADDRESS_KIND) :: extra_state, value_in, value_out
  logical :: flag
  value_out = value_in + extra_state
  flag = .true.
  error = MPI_SUCCESS
end subroutine copy_attribute

subroutine delete_attribute(comm, keyval, value, extra_state, error)
  use mpi, only: MPI_ADDRESS_KIND, MPI_SUCCESS
  implicit none
  integer :: comm, keyval, error
  integer(kind=MPI_ADDRESS_KIND) :: value, extra_state
  if (extra_state /= 1000 .or. value < 2_8**40) stop 'wrong attribute'
  error = MPI_SUCCESS
end subroutine delete_attribute
